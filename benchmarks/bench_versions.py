"""Looking a distribution's version up and parsing it, as instrumentations do for each call.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'version*'

The set-ups are `stock`, unpatched OpenTelemetry, and `fastpath`, with the lookups of otel_fastpath.others.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from opentelemetry.instrumentation import _semconv
from opentelemetry.instrumentation._semconv import _OpenTelemetryStabilitySignalType as Signal

# Scenarios are counted in forks: modules that every set-up imports are imported before the fork.
from otel_fastpath import FastpathInstrumentor, versions

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = [Signal.HTTP, Signal.DATABASE]


class Given:
    """The objects that the callables of this file use.

    Attributes:
        version: `importlib.metadata.version`, or its replacement.
        schema_url: The function that gives the stock instrumentations their schema URL.
    """

    def __init__(self, version: Callable[[str], str]) -> None:
        self.version = version
        self.schema_url = _semconv._get_schema_url_for_signal_types


def stock() -> Given:
    """Unpatched OpenTelemetry."""
    return Given(metadata.version)


def fastpath() -> Given:
    """The lookups replaced."""
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument()
    [row] = [row for row in instrumentor.status() if row.name == "versions.schema_url"]
    if row.state.value != "applied":
        raise RuntimeError(f"{row.name} is not applied: {row.reason}")
    return Given(versions.once(metadata.version))


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def lookup(given: Given) -> None:
    """The version of a distribution."""
    given.version("opentelemetry-sdk")


def schema_url(given: Given) -> None:
    """The schema of an instrumentation's connections, for which six version numbers are parsed."""
    given.schema_url(SIGNALS)
