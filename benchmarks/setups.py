"""What set-ups of the benchmarks share: the same span everywhere, and otel-fastpath in place or an error."""

from __future__ import annotations

from typing import Any

# Scenarios are counted in forks: what every set-up would import is imported before.
from otel_fastpath import FastpathInstrumentor, compiled
from otel_fastpath.patching import pausing

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
    """Put otel-fastpath in place with the core "py" or "c".

    Raises:
        RuntimeError: That core is not there, or a patch was skipped: something else would be measured.
    """
    instrumentor = FastpathInstrumentor()
    # The exception counters have budgets of their own.
    instrumentor.instrument(core=asked, disabled="exceptions")
    if compiled.implementation()[0] != asked:
        raise RuntimeError(f"the {asked!r} core is not there: {compiled.implementation()[1]}")
    off = [f"{row.name}: {row.reason}" for row in instrumentor.status() if row.state.value == "skipped"]
    if off:
        raise RuntimeError("not applied: " + "; ".join(off))


def without_turns() -> None:
    """Encode and collect in one go: under valgrind, fifty times slower, there would be fifty times as many pauses."""
    pausing._STRETCH = pausing._LONG_STRETCH = 1.0
