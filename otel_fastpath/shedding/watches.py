"""Times one call in telemetry's own code, without what it calls of the host.

A `TimeWatch` belongs to one call. It runs while telemetry's code runs, and stands while the host's code does: a
coroutine is driven step by step, and the watch is switched at the beginning and the end of each step.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections import deque
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class _Current(threading.local):
    """The watch that runs in this thread, if any."""

    watch: TimeWatch | None = None


_current: Final = _Current()


class TimeWatch:
    """Adds up the time of one call in telemetry's code; `total` is the result."""

    __slots__ = ("_began", "_crossings", "_nanoseconds")

    def __init__(self) -> None:
        self._nanoseconds = 0
        self._began = self._crossings = 0

    def total(self) -> float:
        """The nanoseconds in telemetry's code, without what the watch itself took of them."""
        return max(0.0, self._nanoseconds - self._crossings * _crossing.cost)

    def _turn(self, on: bool) -> TimeWatch | None:  # called often
        """Let the watch run (`on`) or stand; what ran before in this thread stands, and is returned."""
        before = _current.watch
        if before is not None:
            before._nanoseconds += perf_counter_ns() - before._began
        _current.watch = self if on else None
        if on:
            self._began = perf_counter_ns()
        return before

    def _turn_back(self, on: bool, before: TimeWatch | None) -> None:  # likewise
        """Undo `_turn`, which returned this."""
        if on:
            self._nanoseconds += perf_counter_ns() - self._began
        _current.watch = before
        if before is not None:
            before._began = perf_counter_ns()

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any, *, on: bool) -> Any:
        """Call a function while the watch runs or stands."""
        before = self._turn(on)
        try:
            return function(*args, **kwargs)
        finally:
            self._turn_back(on, before)

    @types.coroutine
    def run(self, function: Callable[..., Any], args: Any, kwargs: Any, *, on: bool) -> Generator[Any, Any, Any]:
        """Await what a function returns; the watch runs or stands in the call, and in each step of the coroutine."""
        before = self._turn(on)
        self._crossings += not on
        coroutine: Any = None
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                if coroutine is None:
                    made = function(*args, **kwargs)
                    coroutine = made if is_coroutine(made) else _awaiting(made)
                awaited = coroutine.send(value) if error is None else coroutine.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self._turn_back(on, before)
            value = error = None
            try:
                value = yield awaited
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as thrown:  # it is thrown into the coroutine
                error = thrown
            before = self._turn(on)

    def of_telemetry(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A coroutine function of telemetry's, which the host calls: the watch runs in it."""

        async def running(*args: Any, **kwargs: Any) -> Any:
            return await self.run(function, args, kwargs, on=True)

        return running

    def of_host(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the host's that telemetry awaits: the watch stands in it."""
        return lambda *args, **kwargs: self.run(function, args, kwargs, on=False)

    def of_application(self, application: Callable[..., Any]) -> Callable[..., Any]:
        """An ASGI application that telemetry awaits, with telemetry's own `receive` and `send`."""

        def standing(scope: Any, receive: Any, send: Any) -> Any:
            given = scope, self.of_telemetry(receive), self.of_telemetry(send)
            return self.run(application, given, {}, on=False)

        return standing


def running_watch() -> TimeWatch | None:
    """The watch that runs in this thread, if any."""
    return _current.watch


def is_coroutine(value: Any) -> bool:
    """As `isinstance(value, Coroutine)`, for a tenth of its cost."""
    return hasattr(value, "__await__") and hasattr(value, "send")


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable


async def _nothing() -> None:
    pass


class _Crossing:
    """What a call of a coroutine function of the host's adds to the time of telemetry.

    It is measured after calls that are timed, when this code is as warm as it was then: in a loop, it is faster.
    """

    # At first after each call that is timed, later after one of so many.
    _FEW: Final = 8

    def __init__(self) -> None:
        self.cost = 0.0
        self._times: deque[int] = deque(maxlen=4 * self._FEW)
        self._left = 1

    def measure(self) -> None:
        """Measure once, if it is time to."""
        self._left -= 1
        if self._left > 0:
            return
        watch = TimeWatch()
        try:
            watch.run(watch.of_host(_nothing), (), {}, on=True).send(None)
        except StopIteration:
            self._times.append(watch._nanoseconds)
            self.cost = median(self._times)
            self._left = 1 if len(self._times) < self._FEW else self._FEW


_crossing: Final = _Crossing()
calibrate: Final = _crossing.measure


def standing_in(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the host's, made for a hook that calls it: the watch that runs stands in it."""
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def standing_async(*args: Any, **kwargs: Any) -> Any:
            watch = _current.watch
            if watch is None:
                return await original(*args, **kwargs)
            return await watch.run(original, args, kwargs, on=False)

        return standing_async

    @functools.wraps(original)
    def standing(*args: Any, **kwargs: Any) -> Any:
        watch = _current.watch
        if watch is None:
            return original(*args, **kwargs)
        result = watch.call(original, args, kwargs, on=False)
        return watch.run(lambda: result, (), {}, on=False) if is_coroutine(result) else result

    return standing
