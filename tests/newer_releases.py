"""Marks of tests that need newer releases than the lowest that pyproject.toml declares."""

from __future__ import annotations

from importlib import metadata

import pytest
from packaging.version import Version


def older(name, release):
    """Whether a distribution is older than this release, or missing."""
    try:
        return Version(metadata.version(name)) < Version(release)
    except metadata.PackageNotFoundError:
        return True


def needs(name, release, why):
    """Skips a test beside older releases of a distribution."""
    return pytest.mark.skipif(older(name, release), reason=f"{name} {release}: {why}")


ASGI = "opentelemetry-instrumentation-asgi", "0.62b0"
asgi_requests = needs(*ASGI, "the first whose requests are replaced; 0.61b0 does not ask whether HTTP is suppressed")
log_records = needs("opentelemetry-sdk", "1.45", "the first whose log records are replaced")
log_correlation = needs("opentelemetry-instrumentation-logging", "0.66b0", "the first whose correlation is replaced")
