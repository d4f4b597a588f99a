"""What a scenario is, and the ways to count it."""

from __future__ import annotations

import gc
import importlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_fastpath.exceptions import monitor
from otel_fastpath.exceptions.defaults import LIMIT, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable

# Compiled with marks; compiled, but as for types that cannot be marked; Python.
WAYS = ("marks", "tracebacks", "python")
# What the standard library and anyio raise and handle inside, differently in each version.
NOISE = {"AttributeError", "BlockingIOError", "Empty", "IndexError", "KeyError", "LookupError", "TypeError"}


@dataclass(frozen=True)
class Scenario:
    """One small program.

    Attributes:
        run: Runs it; whatever it raises, it handles.
        raised: Type name -> how many exceptions of it Python code sees, but for the types that are skipped.
        handled: Likewise, how many of them are caught for good; None: all of them.
        by_traceback: What the rule for exceptions that cannot be marked counts in their place; None: the same.
        in_python: What the callback in Python counts; None: what that rule does.
        warm: Whether it runs once before it is counted, so that imports and caches are out of the way.
    """

    run: Callable[[], object]
    raised: dict[str, int]
    handled: dict[str, int] | None = None
    by_traceback: dict[str, int] | None = None
    in_python: dict[str, int] | None = None
    warm: bool = True

    def expected(self, way: str) -> dict[str, int]:
        """What this way of counting gives."""
        if way == "python" and self.in_python is not None:
            return self.in_python
        return self.raised if way == "marks" or self.by_traceback is None else self.by_traceback

    def without_noise(self, counts: dict[str, int]) -> dict[str, int]:
        """Only what the scenario itself raised, by the bare names of the types."""
        bare = {name.rpartition(".")[2]: number for name, number in counts.items()}
        return {name: number for name, number in bare.items() if name in self.raised or name not in NOISE}


SCENARIOS: dict[str, Scenario] = {}


def scenario(raised: dict[str, int], **more) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Make a scenario of the function."""

    def declare(function):
        assert function.__name__ not in SCENARIOS
        SCENARIOS[function.__name__] = Scenario(function, raised, **more)
        return function

    return declare


def engine_of(way: str):
    """The callbacks for a way of counting."""
    return importlib.import_module(
        "otel_fastpath.exceptions.callbacks" if way == "python" else "otel_fastpath.exceptions.callbacks_c"
    )


def count(
    function, way: str = "marks", *, handled: bool = False, skip: frozenset[str] = SKIPPED, by_site: bool = False
):
    """Run the function under the callbacks.

    Returns:
        Type name -> raised, and type name -> handled.
    """
    engine = engine_of(way)
    engine.configure(LIMIT, skip, (), True, by_site, way != "tracebacks")  # noqa: FBT003  # positional only
    engine.reset()
    tool_id = monitor.claim()
    assert tool_id is not None
    gc.collect()
    gc.disable()
    monitor._register(engine, tool_id, handled=handled)
    try:
        function()
    finally:
        monitor.clear(tool_id)
        sys.monitoring.free_tool_id(tool_id)
        gc.enable()
    rows = engine.counts()
    return (
        {name: raised for name, raised, _, _ in rows if raised},
        {name: caught for name, _, caught, _ in rows if caught},
    )
