"""What was seen before: work that pays only for a value that comes again is done at its second sight."""

from __future__ import annotations

from array import array
from typing import Any, Final

# The number of places at first, and the most. Powers of two.
_LEAST: Final = 16
_MOST: Final = 4096


class Sights:
    """Remembers which values were seen lately, in 8 bytes for each: those of a stranger cost no more memory.

    A value is remembered by its hash, in a place that others take at times. Two values with one hash are taken for
    one: then something is learnt at the first sight, which is right, too. No lock is needed: threads that write at the
    same time lose a value.
    """

    __slots__ = ("_marks", "_noted")

    def __init__(self) -> None:
        self._marks = array("q", bytes(8 * _LEAST))
        self._noted = 0

    def note(self, value: Any) -> bool:
        """Note a value, which must be hashable; return whether it was noted before."""
        mark = hash(value) or 1
        marks = self._marks
        place = (mark ^ mark >> 4) & (len(marks) - 1)  # an address has no lower bits
        if marks[place] == mark:
            return True
        self._noted += 1
        # Of two values that come in turn and have one place, one would else never be found.
        if not marks[place] or self._noted & 1:
            marks[place] = mark
        if self._noted > len(marks) < _MOST:
            self._grow(marks)
        return False

    def _grow(self, marks: array[int]) -> None:
        twice = array("q", bytes(16 * len(marks)))
        for mark in marks:
            twice[(mark ^ mark >> 4) & (len(twice) - 1)] = mark
        self._marks, self._noted = twice, 0
