"""Looking a distribution's version up and parsing it, as instrumentations do for each call.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'version*'

`stock` and `fastpath` are the set-ups: OpenTelemetry as it is, and with the lookups of otel_fastpath.others in place.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from opentelemetry.instrumentation import _semconv
from opentelemetry.instrumentation._semconv import _OpenTelemetryStabilitySignalType as Signal

# Scenarios are counted in forks: what every set-up would import is imported before.
from otel_fastpath import FastpathInstrumentor, versions

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = [Signal.HTTP, Signal.DATABASE]


class Given:
    """What the callables of this file work with.

    Attributes:
        version: `importlib.metadata.version`, or what is put in its place.
        schema_url: What the official instrumentations ask which schema they follow.
    """

    def __init__(self, version: Callable[[str], str]) -> None:
        self.version = version
        self.schema_url = _semconv._get_schema_url_for_signal_types


def stock() -> Given:
    """OpenTelemetry as it is."""
    return Given(metadata.version)


def fastpath() -> Given:
    """The lookups replaced."""
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument(disabled="exceptions")
    [row] = [row for row in instrumentor.status() if row.name == "versions.schema_url"]
    if row.state.value != "applied":
        raise RuntimeError(f"{row.name} is not applied: {row.reason}")
    return Given(versions.once(metadata.version))


def nothing(given: Given) -> None:
    """The bare call of what is telemetry only."""


def lookup(given: Given) -> None:
    """The version of a distribution."""
    given.version("opentelemetry-sdk")


def schema_url(given: Given) -> None:
    """The schema that an instrumentation's connections follow: six version numbers are parsed."""
    given.schema_url(SIGNALS)
