"""Values of settings that cannot be compared, read or printed."""

from __future__ import annotations


class Array:
    """As numpy's: its comparisons are arrays, and it is neither true nor false."""

    def __eq__(self, other):
        """Compare each element."""
        return Array()

    def __bool__(self):
        """Do as numpy does."""
        raise ValueError("ambiguous")

    __hash__ = None


class Broken:
    """An object whose methods all raise."""

    def _raise(self, *_given):
        raise RuntimeError("broken")

    __eq__ = __bool__ = __str__ = __repr__ = __iter__ = __fspath__ = __float__ = __int__ = __len__ = _raise
    __hash__ = object.__hash__


ODD = [Array(), Broken(), 10**5000, b"on", bytearray(b"on")]
ODD_IDS = ["array", "broken", "long number", "bytes", "bytearray"]
