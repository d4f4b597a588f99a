"""Exact counts of what the interpreter does for one call: bytecodes executed and Python functions entered.

They are the same on every machine for one Python version and one set of installed versions, so any change of a count
is a change of the code. They do not include work inside C: see `otel-fastpath budget explain`.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    from otel_fastpath.tools.budget.counting.callables import Arm, Running

# A power of two: work that a hook does on every 2nd, 4th, ... call is spread evenly.
CALLS: Final = 64
# More than the 256 small integers that Python caches: a queue that grows beyond them allocates one more per call.
WARM_UP: Final = 200
REFILL: Final = 100


@dataclass(frozen=True)
class Function:
    """The counts of one function, per call of the scenario: instrumented minus bare."""

    name: str
    place: str
    bytecodes: float
    calls: float


@contextmanager
def quiet(arm: Arm) -> Iterator[None]:
    """Disable the garbage collector, and bring the free lists into the state that a run of calls leaves."""
    arm.block(WARM_UP)
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        arm.block(REFILL)
        yield
    finally:
        if was_enabled:
            gc.enable()


def bytecodes(running: Running) -> dict[CodeType, float]:
    """Bytecodes per call of each code object on the calling thread, instrumented minus bare."""
    counter = _monitored if sys.version_info >= (3, 12) else _traced
    return _difference(running, counter)


def calls(running: Running) -> dict[CodeType, float]:
    """Python functions entered (generators and coroutines: resumed) per call, instrumented minus bare."""
    return _difference(running, _profiled)


def functions(running: Running) -> list[Function]:
    """The counts of all functions, the most expensive function first."""
    work, entries = bytecodes(running), calls(running)
    found = [
        Function(
            code.co_qualname if sys.version_info >= (3, 11) else code.co_name,
            f"{code.co_filename}:{code.co_firstlineno}",
            work.get(code, 0.0),
            entries.get(code, 0.0),
        )
        for code in {**work, **entries}
        if code.co_filename != Counter.__module__
    ]
    return sorted(found, key=lambda each: -each.bytecodes)


def total(counts: dict[CodeType, float]) -> float:
    """The sum over all functions."""
    return round(sum(counts.values()), 6)


def _difference(running: Running, counter: Callable[[Callable[[], Any]], Counter[CodeType]]) -> dict[CodeType, float]:
    found = []
    for arm in (running.instrumented, running.bare):
        with quiet(arm):
            found.append(counter(lambda arm=arm: arm.block(CALLS)))  # type: ignore[misc]
    with_it, without = found
    return {
        code: (with_it[code] - without[code]) / CALLS
        for code in {**with_it, **without}
        if with_it[code] != without[code]
    }


def _monitored(call: Callable[[], Any]) -> Counter[CodeType]:
    monitoring = sys.monitoring
    tool = next((tool for tool in range(6) if monitoring.get_tool(tool) is None), None)
    if tool is None:
        raise RuntimeError("every tool id of sys.monitoring is taken")
    counted: Counter[CodeType] = Counter()
    thread = get_ident()

    def on_instruction(code: CodeType, _offset: int) -> None:
        if get_ident() == thread:
            counted[code] += 1

    monitoring.use_tool_id(tool, "otel-fastpath budget")
    try:
        monitoring.register_callback(tool, monitoring.events.INSTRUCTION, on_instruction)
        monitoring.set_events(tool, monitoring.events.INSTRUCTION)
        try:
            call()
        finally:
            monitoring.set_events(tool, monitoring.events.NO_EVENTS)
            monitoring.register_callback(tool, monitoring.events.INSTRUCTION, None)
    finally:
        monitoring.free_tool_id(tool)
    return counted


def _traced(call: Callable[[], Any]) -> Counter[CodeType]:
    counted: Counter[CodeType] = Counter()

    def on_event(frame: Any, event: str, _argument: Any) -> Any:
        if event == "opcode":
            counted[frame.f_code] += 1
        elif event == "call":
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        return on_event

    before = sys.gettrace()
    sys.settrace(on_event)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


def _profiled(call: Callable[[], Any]) -> Counter[CodeType]:
    counted: Counter[CodeType] = Counter()

    def on_event(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            counted[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        call()
    finally:
        sys.setprofile(before)
    return counted
