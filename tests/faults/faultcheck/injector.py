"""Raises at a line, or says which lines are reached: by `sys.monitoring`, before Python 3.12 by `sys.settrace`."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING

from faultcheck.lines import relative

if TYPE_CHECKING:
    from collections.abc import Callable

Place = tuple[str, int]
CAN_REPEAT = sys.version_info >= (3, 12)
# The ids from 0 on belong to tools by convention; the counters of exceptions take one as well.
_TOOL_ID = 3


class InjectedFault(RuntimeError):  # noqa: N818  # as the package calls them
    """What is raised at a line."""


def _as_of_library(function: FunctionType) -> FunctionType:
    """The function, its frame looking like one of the standard library's.

    A traceback is looked at to tell whose fault it is: between a line of this package and what it raises stands nobody,
    or a function of the standard library that it calls. Nor has such a function the caller's frame or its code: with
    these, the interpreter calls a function between two instructions, which is whoever's set it. So they are let go of
    before anything is raised.
    """
    names = {**function.__globals__, "__name__": "threading"}
    return FunctionType(function.__code__, names, closure=function.__closure__)


class Injector:
    """Watches the lines of this package that are executed while it is armed.

    Attributes:
        hits: How often it has raised.
    """

    def __init__(self) -> None:
        self.hits = 0
        self._place: Place | None = None
        self._repeats = False
        self._seen: set[Place] = set()

    def arm(self, place: Place, *, repeats: bool) -> None:
        """Raise when the line is reached: the first time, or each time."""
        self.hits = 0
        self._place, self._repeats = place, repeats
        _watch(self._reached)

    def record(self) -> None:
        """Take down which lines are reached."""
        self._place, self._seen = None, set()
        _watch(self._reached)

    def disarm(self) -> set[Place]:
        """Stop; gives the lines that were taken down."""
        _watch(None)
        return self._seen

    def close(self) -> None:
        """Stop, and leave the interpreter as it was to who watches next in this process."""
        _watch(None)
        _leave()

    def _reached(self, filename: str, line: int) -> bool:
        """Gives whether to raise."""
        name = relative(filename)
        if name is None:
            return False
        if self._place is None:
            self._seen.add((name, line))
            return False
        if (name, line) != self._place or (self.hits and not self._repeats):
            return False
        self.hits += 1
        return True


if sys.version_info >= (3, 12):

    def _watch(reached: Callable[[str, int], bool] | None) -> None:
        monitoring = sys.monitoring
        if monitoring.get_tool(_TOOL_ID) is None:
            monitoring.use_tool_id(_TOOL_ID, "faults")
        if reached is None:
            monitoring.set_events(_TOOL_ID, 0)
            return

        def on_line(code, line):
            name, is_compiled = code.co_filename, sys._getframe(1).f_code is not code
            del code
            if reached(name, line):
                raise InjectedFault(f"injected at {relative(name)}:{line}")
            # Nothing of a line that need not be watched. Of a compiled function, it would be nothing of any line.
            return None if is_compiled and relative(name) is not None else monitoring.DISABLE

        monitoring.register_callback(_TOOL_ID, monitoring.events.LINE, _as_of_library(on_line))
        monitoring.set_events(_TOOL_ID, monitoring.events.LINE)
        # Lines that were reached while something else was looked for.
        monitoring.restart_events()

    def _leave() -> None:
        sys.monitoring.free_tool_id(_TOOL_ID)

else:

    def _watch(reached: Callable[[str, int], bool] | None) -> None:
        if reached is None:
            sys.settrace(None)
            return

        def on_line(frame, event, _argument):
            name, line = frame.f_code.co_filename, frame.f_lineno
            del frame
            if event == "line" and reached(name, line):
                raise InjectedFault(f"injected at {relative(name)}:{line}")
            return local[0]

        local = [_as_of_library(on_line)]

        def on_call(frame, _event, _argument):
            return None if relative(frame.f_code.co_filename) is None else local[0]

        sys.settrace(on_call)

    def _leave() -> None:
        pass
