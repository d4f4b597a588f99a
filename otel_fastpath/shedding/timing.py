"""What the calls of a hook cost: their calls are counted, and one of 1024 is timed.

A layer over the hook counts its calls. The calls that are timed are chosen at random, so that no pattern of the
host's coincides with them. The price of a call is the average of the last ones; one that took more than 5 times the
median was interrupted, by another thread or process, and does not count. No layer is there unless the guard is on.
"""

from __future__ import annotations

from collections import deque
from random import randrange
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.shedding import layer
from otel_fastpath.shedding.watches import TimeWatch, calibrate, is_coroutine

if TYPE_CHECKING:
    from collections.abc import Callable

# One call of so many is timed, until the price is known, and then.
_OFTEN: Final = 128
EVERY: Final = 1024
# The first calls make and import what later ones use.
_FIRST: Final = 8
# A call that took so many times the median was interrupted.
_INTERRUPTED: Final = 5
# How many calls the average is of, and how many of them stay if something else is shed from now on.
_MEMORY: Final = 64
_KEPT: Final = 4


class CountedHook:
    """The calls of one hook.

    Args:
        function: The hook.
        time: Has a call timed: called with the hook, this object and the arguments.

    Attributes:
        below: The hook itself.
        layer: The function that counts the calls; it keeps this object.
    """

    __slots__ = ("__weakref__", "_counter", "_drawn", "_price", "_taken", "_time", "_times", "below", "layer")

    def __init__(self, function: Any, time: Callable[[CountedHook, Any, Any], Any]) -> None:
        self._times: deque[float] = deque(maxlen=_MEMORY)
        self._price: float | None = 0.0
        self._taken = 0
        self._drawn = _FIRST
        self._time = time
        self.below = function
        self.layer, self._counter = layer.lay(function, self._time_this, _FIRST)

    @property
    def calls(self) -> int:
        """How often it was called."""
        return int(self._drawn - self._counter.left)

    def _time_this(self, args: Any, kwargs: Any) -> Any:
        """Choose the next call that is timed, and time this one."""
        every = EVERY if len(self._times) == _MEMORY else _OFTEN
        drawn = randrange(1, 2 * every)  # noqa: S311  # nothing is to be kept secret
        self._drawn += drawn
        self._counter.left += drawn
        return self._time(self, args, kwargs)

    def take(self) -> int:
        """How often it was called since the last time."""
        before, self._taken = self._taken, self.calls
        return self._taken - before

    def add(self, nanoseconds: float) -> None:
        """Add the time of one call."""
        self._times.append(nanoseconds)
        self._price = None

    def renew(self) -> None:
        """Forget most of what calls have taken: they are cheaper or dearer from now on."""
        while len(self._times) > _KEPT:
            self._times.popleft()

    def price(self) -> float:
        """The average time of a call, in nanoseconds; 0 if none was timed yet."""
        if self._price is None:
            times = tuple(self._times)
            most = _INTERRUPTED * median(times)
            self._price = fmean([time for time in times if time <= most])
        return self._price


def time_call(function: Any, hook: CountedHook, args: Any, kwargs: Any) -> Any:
    """Make a call, and add its time to the hook's."""
    watch = TimeWatch()
    result = watch.call(function, args, kwargs, on=True)
    if is_coroutine(result):
        return await_counted(watch.run(lambda: result, (), {}, on=True), watch, hook)
    hook.add(watch.total())
    return result


async def await_counted(call: Any, watch: TimeWatch, hook: CountedHook) -> Any:
    """Await a call, and add its time."""
    try:
        return await call
    finally:
        calibrate()
        hook.add(watch.total())
