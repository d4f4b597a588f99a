"""Sharing the interpreter: work in an exporter's thread pauses now and then, so that the application's threads run."""

from __future__ import annotations

import time
from typing import Final

# How long such work keeps the interpreter, and how long it then leaves it. A thread that waits for the interpreter must
# be awake to get it: releasing without a pause would take it back before anybody else could.
_STRETCH: Final = 200e-6
_PAUSE: Final = 50e-6
# Getting the interpreter back took so long: somebody computes and never releases it. To him a turn is worth nothing,
# and each costs the exporter that wait, which is five milliseconds at least, and both of them two switches.
_LONG_WAIT: Final = 2e-3
_LONG_STRETCH: Final = 16 * _STRETCH


class Pace:
    """Lets other threads run after each stretch of work.

    Args:
        stretch: How long the first stretch is, in seconds, if that is longer than usual.
    """

    __slots__ = ("_until", "stretch")

    def __init__(self, stretch: float = 0.0) -> None:
        self.stretch = max(stretch, _STRETCH)
        self._until = time.perf_counter() + self.stretch

    def turn(self) -> None:
        """Pause if it is time, and see how the others use it."""
        now = time.perf_counter()
        if now < self._until:
            return
        time.sleep(_PAUSE)
        resumed = time.perf_counter()
        self.stretch = _LONG_STRETCH if resumed - now > _LONG_WAIT else _STRETCH
        self._until = resumed + self.stretch
