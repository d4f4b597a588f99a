"""Caches the version lookups that instrumentations make for each call or each streamed chunk.

Each is one row of `LOOKUPS`. A patch replaces a name in an instrumentation's own globals, so no other code is affected:
the application's importlib.metadata and packaging do not change.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from packaging import version as packaging_version

from otel_fastpath import versions
from otel_fastpath.patching.patch import Patch, SkipError
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.trace.stock_sources import stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config


def _make_lookup(original: Any, _settings: Config) -> Any:
    """Replace `version` of importlib.metadata or of its backport, which OpenTelemetry's API used before 1.42."""
    backport: Any = sys.modules.get("importlib_metadata", metadata)
    if original is not metadata.version and original is not backport.version:
        raise SkipError(f"it is not importlib.metadata.version: {original!r}")
    return versions.once(original)


def _make_parser(original: Any, _settings: Config) -> Any:
    """Replace the module `packaging.version` by one that caches parsed versions; other names are the original's."""
    if original is not packaging_version:
        raise SkipError(f"it is not the module packaging.version: {original!r}")
    # A Version is immutable and can be shared; an invalid version raises an exception each time.
    once = functools.lru_cache(maxsize=64)
    return stand_in(original, parse=once(original.parse), Version=once(original.Version))


@dataclass(frozen=True)
class Kind:
    """A kind of object that a name in an instrumentation refers to, and its replacement.

    Attributes:
        why: See `Patch`.
        make: See `Patch`; raises `SkipError` if the name refers to another object.
        budget: The benchmark scenario that limits what the replacement costs.
    """

    why: str
    make: Callable[[Any, Config], Any]
    budget: str


LOOKUP: Final = Kind(
    "Searches sys.path and parses a metadata file at each call: 0.8 to 1.8 ms.",
    _make_lookup,
    "version of a distribution",
)
PARSER: Final = Kind(
    "Parses the same version numbers at each call: 1 us each.", _make_parser, "version numbers of a schema URL"
)


@dataclass(frozen=True)
class Lookup:
    """A name in an instrumentation's globals that is called repeatedly.

    Attributes:
        name: The name of the patch.
        module: The instrumentation's module.
        attribute: The name in the module.
        kind: The kind of object that the name refers to.
        requires: The instrumentation's releases in which it is called repeatedly.
        callers: The functions of the module that call it, whose sources the guard checks.
    """

    name: str
    module: str
    attribute: str
    kind: Kind
    requires: str
    callers: tuple[str, ...]


_OPENAI: Final = "opentelemetry.instrumentation.openai"

LOOKUPS: Final = (
    # Until 0.37 it looks up the versions of openai and pydantic, both several times for each call and both for each
    # chunk. Since 0.38 it stores the two strings; since 0.46 it parses one of them at each comparison of versions.
    Lookup(
        "versions.openai",
        f"{_OPENAI}.utils",
        "version",
        LOOKUP,
        "opentelemetry-instrumentation-openai>=0.33,<0.38",
        ("is_openai_v1",),
    ),
    Lookup(
        "versions.openai.pydantic",
        f"{_OPENAI}.shared",
        "version",
        LOOKUP,
        "opentelemetry-instrumentation-openai>=0.33,<0.38",
        ("model_as_dict",),
    ),
    Lookup(
        "versions.openai.parse",
        f"{_OPENAI}.utils",
        "pkg_version",
        PARSER,
        "opentelemetry-instrumentation-openai>=0.46,<0.63",
        ("is_openai_v1", "is_reasoning_supported"),
    ),
    Lookup(
        "versions.groq.pydantic",
        "opentelemetry.instrumentation.groq.utils",
        "version",
        LOOKUP,
        "opentelemetry-instrumentation-groq>=0.33,<0.38",
        ("model_as_dict",),
    ),
    # For each connection of a DB-API driver; with SQL comments enabled, also for mysqlclient.
    Lookup(
        "versions.schema_url",
        "opentelemetry.instrumentation._semconv",
        "package_version",
        PARSER,
        "opentelemetry-instrumentation>=0.62b0,<0.67",
        ("_get_schema_url_for_signal_types",),
    ),
    Lookup(
        "versions.dbapi",
        "opentelemetry.instrumentation.dbapi",
        "util_version",
        LOOKUP,
        "opentelemetry-instrumentation-dbapi>=0.61b0,<0.67",
        ("DatabaseApiIntegration._get_db_version",),
    ),
)


# The fingerprints of the callers' sources, written by tests/others/lookup_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("version_lookups.json"))


def _patch(row: Lookup) -> Patch:
    places = [f"{row.module}:{caller}" for caller in row.callers]
    return Patch(
        name=row.name,
        target=f"{row.module}:{row.attribute}",
        why=row.kind.why,
        make=row.kind.make,
        requires=(row.requires,),
        sources=KNOWN.sources(*places),
        needs_gil=False,
        budgets=(row.kind.budget,),
    )


PATCHES: Final = tuple(_patch(row) for row in LOOKUPS)
