"""Which lines of some functions programs execute."""

from __future__ import annotations

import sys
import threading
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping
    from types import FrameType


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code, and that of the functions inside of it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


def lines_of(code: CodeType) -> set[int]:
    """The lines with instructions, but for the first one, at which a function is defined."""
    return {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}


class Reach:
    """Notes which lines of functions are executed.

    Args:
        functions: The code of each function, by its place, "module:qualified.name"; several for a class.

    Attributes:
        programs: The names of the programs that execute a function, by its place.
        with_code: The places that have code; a data class may have none.
    """

    def __init__(self, functions: Mapping[str, Iterable[CodeType]]) -> None:
        # A function may have several places: the modules that import it.
        self._places: dict[CodeType, list[str]] = {}
        for place, codes in functions.items():
            for code in codes:
                for each in codes_in(code):
                    self._places.setdefault(each, []).append(place)
        # Of each program.
        self._lines: dict[CodeType, dict[str, set[int]]] = {code: {} for code in self._places}
        self.programs: dict[str, set[str]] = {place: set() for place in functions}
        self.with_code = {place for places in self._places.values() for place in places}
        self._program = ""

    def during(self, program: str, call: Callable[[], str]) -> str:
        """What a call returns, during which this program runs."""
        self._program = program
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return call()
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        lines = self._lines.get(frame.f_code)
        if lines is None:
            return None
        if event == "call":
            for place in self._places[frame.f_code]:
                self.programs[place].add(self._program)
        lines.setdefault(self._program, set()).add(frame.f_lineno)
        return self._trace

    def missed(self, programs: Container[str]) -> dict[str, list[int]]:
        """The lines of each function that none of these programs has executed, in order."""
        found: dict[str, set[int]] = {place: set() for place in self.programs}
        for code, places in self._places.items():
            for place in places:
                executed = (lines for program, lines in self._lines[code].items() if program in programs)
                found[place] |= lines_of(code).difference(*executed)
        return {place: sorted(lines) for place, lines in found.items()}
