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


# A difference: beside older releases, which go on counting a request whose hook or teardown raised as active, ours
# counts it out.
fastapi_own = needs("fastapi", "0.142.4", "the first whose own telemetry is replaced")
flask_counts_out = needs("opentelemetry-instrumentation-flask", "0.64b0", "the first that counts this request out")
disabled_loggers = needs("opentelemetry-sdk", "1.41", "the first whose loggers can be disabled")
record_exceptions = needs("opentelemetry-sdk", "1.42", "the first whose log records have an exception")
recursive_records = needs("opentelemetry-instrumentation-logging", "0.62b0", "the first whose handler notices them")
sheds_spans = needs("opentelemetry-sdk", "1.41", "the first whose spans are shed: its provider lists its tracers")
dbapi_metrics = needs("opentelemetry-instrumentation-dbapi", "0.63b0", "the first with metrics")
