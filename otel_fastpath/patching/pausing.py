"""Pauses in the work of an exporter's thread, which release the GIL so that the application's threads can run."""

from __future__ import annotations

import time
from typing import Final

# How long the work holds the GIL, and how long it then releases it. A thread that waits for the GIL must wake up to get
# it: without a pause, this thread would take it back first.
STRETCH: Final = 200e-6
_PAUSE: Final = 50e-6
# If it takes longer than this to get the GIL back, another thread computes without releasing it. Pauses do not help
# that thread, and each costs the exporter a wait of at least five milliseconds, and both of them two context switches.
_LONG_WAIT: Final = 2e-3
_LONG_STRETCH: Final = 16 * STRETCH


class Pace:
    """Lets other threads run after each stretch of work.

    Args:
        stretch: How long the first stretch is, in seconds, if that is longer than usual.
    """

    __slots__ = ("_until", "stretch")

    def __init__(self, stretch: float = 0.0) -> None:
        self.stretch = max(stretch, STRETCH)
        self._until = time.perf_counter() + self.stretch

    def turn(self) -> None:
        """Pause if it is time, and adapt the next stretch to how long the pause took."""
        now = time.perf_counter()
        if now < self._until:
            return
        time.sleep(_PAUSE)
        resumed = time.perf_counter()
        self.stretch = _LONG_STRETCH if resumed - now > _LONG_WAIT else STRETCH
        self._until = resumed + self.stretch
