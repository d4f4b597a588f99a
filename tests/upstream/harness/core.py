"""The core releases of OpenTelemetry, and what the patches of this package rest on in them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from harness import known, released
from harness.paths import REPOSITORY
from otel_fastpath.features import FEATURES
from otel_fastpath.patching.sources.guard import MAY_BE_MISSING
from otel_fastpath.trace.stock_sources import KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.known import Source
    from otel_fastpath.patching.patch import Patch

SDK = "opentelemetry-sdk"
# Where a target's module is looked for, in this order; all are released together under one version.
DISTRIBUTIONS = (
    SDK,
    "opentelemetry-api",
    "opentelemetry-exporter-otlp-proto-common",
    "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry-exporter-otlp-proto-grpc",
    "opentelemetry-exporter-http-transport",
    "opentelemetry-instrumentation-logging",
    "opentelemetry-instrumentation-structlog",
)
# These are numbered as betas: 0.66b1 with 1.45.1. Not each is part of every release.
BETA = frozenset(DISTRIBUTIONS[-3:])
_ROOMS = ("trace", "metrics", "logs", "otlp")


def number_of(distribution: str, version: str) -> str | None:
    """The distribution's own number in the release of this version, or before; None: it did not exist yet."""
    if distribution not in BETA:
        return version
    release = Version(version)
    number = Version(f"0.{release.minor + 21}b{release.micro}")
    return max((each for each in _betas(distribution) if Version(each) <= number), key=Version, default=None)


@functools.cache
def _betas(distribution: str) -> list[str]:
    return released.versions(distribution, "0", pre=True)


def oldest() -> str:
    """The lowest version of the SDK that pyproject.toml allows."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(rf'"{SDK}>=([0-9.]+)"', text)
    if found is None:
        raise ValueError(f"pyproject.toml has no lowest version of {SDK}")
    return found[1]


def roots(version: str, distributions: Sequence[str] = DISTRIBUTIONS) -> list[Path]:
    """The unpacked wheels of a release."""
    numbers = ((each, number_of(each, version)) for each in distributions)
    return [released.wheel(each, number) for each, number in numbers if number]


def patches() -> list[Patch]:
    """The patches of the features that read their fingerprints from the file of the core releases."""
    return [patch for feature in FEATURES if feature.name in _ROOMS for patch in feature.all_patches()]


def rests_on(patch: Patch) -> set[str]:
    """The sources that a patch rests on: those that it declares, and its target where it checks that itself."""
    return {*patch.sources, *({patch.target} & KNOWN.places().keys() - patch.parts.keys())}


def need_not_exist(patch: Patch) -> set[str]:
    """Those of them that not each supported release has."""
    return {place for place, known in patch.sources.items() if MAY_BE_MISSING in known}


def targets() -> list[str]:
    """Each source that a patch rests on, and those in the file: parts of the fast path check some of their own."""
    places = {place for patch in patches() for place in (*patch.sources, *patch.parts)}
    return sorted({*known.load(Path(KNOWN.file)), *places})


@functools.cache
def sources_of(version: str, more: tuple[str, ...] = ()) -> dict[str, Source]:
    """The source of each target in a release."""
    return known.read_all(roots(version), sorted({*targets(), *more}))
