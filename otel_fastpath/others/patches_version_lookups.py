"""Version lookups that instrumentations make for each call or each streamed chunk, answered from one made once.

A row of `LOOKUPS` is all that it takes. What is replaced is a name among an instrumentation's own globals: nobody else
sees it, and the application's importlib.metadata and packaging stay what they are.
"""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from packaging import version as packaging_version

from otel_fastpath import versions
from otel_fastpath.patching.patch import Patch, SkipError
from otel_fastpath.trace.upstream import stand_in

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
    """Replace the module `packaging.version` by one that remembers what it parsed; the rest is the original's."""
    if original is not packaging_version:
        raise SkipError(f"it is not the module packaging.version: {original!r}")
    # A Version is immutable and can be shared; what is no version raises each time.
    once = functools.lru_cache(maxsize=64)
    return stand_in(original, parse=once(original.parse), Version=once(original.Version))


@dataclass(frozen=True)
class Kind:
    """What a name stands for in an instrumentation, and what is put in its place.

    Attributes:
        why: What the original costs and what replaces it.
        make: As in `Patch`; raises `SkipError` if the name does not stand for that.
        budget: The scenario that holds what it costs.
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
    """A name among an instrumentation's globals that is called over and over.

    Attributes:
        name: That of the patch.
        module: The instrumentation's module.
        attribute: The name in it.
        kind: What the name stands for.
        requires: The instrumentation's releases in which it is called over and over.
        callers: The functions of the module that call it; one of them as it was in a release that was read is needed.
    """

    name: str
    module: str
    attribute: str
    kind: Kind
    requires: str
    callers: tuple[str, ...]


_OPENAI: Final = "opentelemetry.instrumentation.openai"

LOOKUPS: Final = (
    # Until 0.37 they look up the versions of openai and of pydantic: both for each call, several times, and both for
    # each chunk. From 0.38 they keep the two strings, and need nothing until 0.46, which parses one at each question.
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
    # For each connection of a DB-API driver, and where SQL comments are on, of mysqlclient.
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


@functools.cache
def _fingerprints() -> dict[str, dict[str, list[str]]]:
    """What the callers' sources were in the releases that were read: tests/others/lookup_fingerprints.py writes it."""
    text = Path(__file__).with_name("version_lookups.json").read_text(encoding="utf-8")
    known: dict[str, dict[str, list[str]]] = json.loads(text)
    return known


def _patch(row: Lookup) -> Patch:
    places = [f"{row.module}:{caller}" for caller in row.callers]
    return Patch(
        name=row.name,
        target=f"{row.module}:{row.attribute}",
        why=row.kind.why,
        make=row.kind.make,
        requires=(row.requires,),
        sources={place: frozenset(_fingerprints().get(place, ())) for place in places},
        needs_gil=False,
        budgets=(row.kind.budget,),
    )


PATCHES: Final = tuple(_patch(row) for row in LOOKUPS)
