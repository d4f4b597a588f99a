"""Shared parts of the benchmarks' set-ups: the same span everywhere, and otel-fastpath applied or an error."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

# Scenarios are counted in forks: modules that every set-up imports are imported before the fork.
from otel_fastpath import FastpathInstrumentor, compiled
from otel_fastpath.patching import pausing

if TYPE_CHECKING:
    from collections.abc import Callable

    _SetUp = Callable[[], Any]

ATTRIBUTES: dict[str, Any] = {
    "http.request.method": "GET",
    "url.scheme": "http",
    "server.address": "localhost",
    "server.port": 8000,
    "http.route": "/items/{item_id}",
    "http.response.status_code": 200,
    "network.protocol.version": "1.1",
}
EVENT = {"cache.hit": False, "cache.key": "item-4711", "cache.size": 512}


def instrument(asked: str) -> None:
    """Apply otel-fastpath with the core "py" or "c".

    Raises:
        RuntimeError: The core is not available or a patch was skipped, so that something else would be measured.
    """
    instrumentor = FastpathInstrumentor()
    # The exception counters have their own budgets.
    instrumentor.instrument(core=asked, telemetry="full", disabled="exceptions")
    if compiled.implementation()[0] != asked:
        raise RuntimeError(f"the {asked!r} core is not there: {compiled.implementation()[1]}")
    off = [f"{row.name}: {row.reason}" for row in instrumentor.status() if row.state.value == "skipped"]
    if off:
        raise RuntimeError("not applied: " + "; ".join(off))


def without_turns() -> None:
    """Encode and collect without pauses: valgrind is fifty times slower, so there would be fifty times as many."""
    pausing.STRETCH = pausing._LONG_STRETCH = 1.0


def ways(given: _SetUp) -> tuple[_SetUp, _SetUp, _SetUp]:
    """What sets a scenario up with unpatched OpenTelemetry, with the pure core and with the compiled one.

    Args:
        given: Makes what the scenario is given, after OpenTelemetry was patched.
    """

    def patched(asked: str) -> Any:
        without_turns()
        instrument(asked)
        return given()

    return given, functools.partial(patched, "py"), functools.partial(patched, "c")
