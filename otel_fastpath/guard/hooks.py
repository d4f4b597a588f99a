"""What the hooks of this package cost: their calls are counted, and one of 128 is timed.

A layer over each hook counts its calls. The calls that are timed are chosen at random, so that no pattern of the
host's coincides with them. The price of a call is the average of the last ones; one that took more than 5 times the
median was interrupted, by another thread or process, and does not count. No layer is there unless the guard is on.
"""

from __future__ import annotations

import functools
from collections import deque
from fnmatch import fnmatchcase
from random import randrange
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.guard import layer
from otel_fastpath.guard.watches import Watch, calibrate, is_coroutine, standing_in
from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import Installation, State, installations
from otel_fastpath.patching.swap import Swap

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: Final = "the guard"
_EVERY: Final = 128
# The first calls make and import what later ones use.
_FIRST: Final = 8
# A call that took so many times the median was interrupted.
_INTERRUPTED: Final = 5
# How many calls the average is of, and how many of them stay if something else is shed from now on.
_MEMORY: Final = 64
_KEPT: Final = 4


# The middleware itself, and those of an application.
_ASGI_ARGUMENTS: Final = 4


class Hook:
    """The calls of one hook.

    Args:
        function: The hook.
        time: Has a call timed: called with the hook, this object and the arguments.

    Attributes:
        layer: The function that counts the calls.
    """

    __slots__ = ("_counter", "_drawn", "_price", "_taken", "_time", "_times", "layer")

    def __init__(self, function: Any, time: Callable[[Hook, Any, Any], Any]) -> None:
        self._times: deque[float] = deque(maxlen=_MEMORY)
        self._price: float | None = 0.0
        self._taken = 0
        self._drawn = _FIRST
        self._time = time
        self.layer, self._counter = layer.lay(function, self._timed, _FIRST)

    @property
    def calls(self) -> int:
        """How often it was called."""
        return int(self._drawn - self._counter.left)

    def _timed(self, args: Any, kwargs: Any) -> Any:
        """Choose the next call that is timed, and time this one."""
        drawn = randrange(1, 2 * _EVERY)  # noqa: S311  # nothing is to be kept secret
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


class _Scope:
    """A context manager whose making, entering and leaving are timed together."""

    def __init__(self, manager: Any, watch: Watch, hook: Hook) -> None:
        self._manager, self._watch, self._hook = manager, watch, hook

    def __enter__(self) -> Any:
        return self._watch.call(self._manager.__enter__, (), {}, on=True)

    def __exit__(self, *raised: object) -> Any:
        try:
            return self._watch.call(self._manager.__exit__, raised, {}, on=True)
        finally:
            self._hook.add(self._watch.total())

    def __call__(self, function: Any) -> Any:
        return self._manager(function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)


def _time_call(function: Any, hook: Hook, args: Any, kwargs: Any) -> Any:
    watch = Watch()
    result = watch.call(function, args, kwargs, on=True)
    if is_coroutine(result):
        return _added(watch.run(lambda: result, (), {}, on=True), watch, hook)
    hook.add(watch.total())
    return result


async def _added(call: Any, watch: Watch, hook: Hook) -> Any:
    """Await a call, and add its time."""
    try:
        return await call
    finally:
        calibrate()
        hook.add(watch.total())


def _time_manager(function: Any, hook: Hook, args: Any, kwargs: Any) -> Any:
    watch = Watch()
    return _Scope(watch.call(function, args, kwargs, on=True), watch, hook)


def _time_asgi(function: Any, hook: Hook, args: Any, kwargs: Any) -> Any:
    """A request of the official middleware: a copy of it, for this request, has the application that is not timed."""
    if len(args) != _ASGI_ARGUMENTS or kwargs:
        return function(*args, **kwargs)
    watch = Watch()
    middleware, scope, receive, send = args
    copy = object.__new__(type(middleware))
    vars(copy).update(vars(middleware))
    copy.app = watch.of_application(middleware.app)
    given = copy, scope, watch.of_host(receive), watch.of_host(send)
    return _added(watch.run(function, given, kwargs, on=True), watch, hook)


def _time_fastapi(function: Any, hook: Hook, args: Any, kwargs: Any) -> Any:
    """A request with FastAPI's own telemetry, which is given the application."""
    if not kwargs.keys() >= {"app", "receive", "send"}:
        return function(*args, **kwargs)
    watch = Watch()
    given = {
        **kwargs,
        "app": watch.of_application(kwargs["app"]),
        "receive": watch.of_host(kwargs["receive"]),
        "send": watch.of_host(kwargs["send"]),
    }
    return _added(watch.run(function, args, given, on=True), watch, hook)


def _itself(installation: Installation, function: Any) -> Any:  # noqa: ARG001  # as `_twin`
    return function


def _twin(installation: Installation, function: Any) -> Any:
    """The same hook around a host's function in which the watch stands; the function itself if that cannot be made."""
    swap, patch = installation.swap, installation.patch
    try:
        return patch.make(standing_in(swap.original), installation.settings)  # type: ignore[union-attr]  # it is applied
    except Exception as error:
        faults.report(_PLACE, error)
        return function


# The name of a patch, or a pattern -> how its calls are timed, and what is called then.
_TIMED: Final[dict[str, tuple[Any, Any]]] = {
    "tracer.start_as_current_span": (_time_manager, _itself),
    "logs.handler_handle": (_time_call, _itself),
    "logs.instrumentation_handle": (_time_call, _itself),
    "asgi.request": (_time_asgi, _itself),
    "fastapi_own.request": (_time_fastapi, _itself),
    "asyncpg.execute": (_time_call, _twin),
    "asyncpg.fetch*": (_time_call, _twin),
    "asyncpg.statement.fetch*": (_time_call, _twin),
    "psycopg.cursor.execute": (_time_call, _twin),
    "psycopg.async_cursor.execute": (_time_call, _twin),
    "redis.command": (_time_call, _twin),
    "redis.async_command": (_time_call, _twin),
    "sqlalchemy.execute": (_time_call, _twin),
    "openai.request": (_time_call, _twin),
    "openai.request.async": (_time_call, _twin),
}


class Hooks:
    """The hooks of this process that are timed."""

    def __init__(self) -> None:
        self._laid: dict[Installation, tuple[Swap, Hook]] = {}

    def lay(self) -> None:
        """Lay a layer over each hook that was applied since the last time, and lift those of hooks that are gone."""
        for installation in installations():
            how = _how(installation.patch.name)
            if how is None:
                continue
            is_applied = installation.state is State.APPLIED and installation.swap is not None
            try:
                if is_applied and installation not in self._laid:
                    self._laid[installation] = _laid(installation, *how)
                elif not is_applied and installation in self._laid:
                    _lift(installation, *self._laid.pop(installation))
            except Exception as error:
                faults.report(_PLACE, error)

    def lift(self) -> None:
        """Remove all layers."""
        while self._laid:
            installation, laid = self._laid.popitem()
            try:
                _lift(installation, *laid)
            except Exception as error:
                faults.report(_PLACE, error)

    def renew(self) -> None:
        """Something else is shed from now on: forget most of what calls have taken."""
        for _, hook in self._laid.values():
            hook.renew()

    def take(self) -> float:
        """The CPU seconds of the calls since the last time, at their present prices."""
        return sum(hook.take() * hook.price() for _, hook in tuple(self._laid.values())) / 1e9

    def prices(self) -> dict[str, tuple[int, float]]:
        """Name of the patch -> the number of calls and the price of one, in nanoseconds."""
        laid = self._laid.copy()
        return {installation.patch.name: (hook.calls, hook.price()) for installation, (_, hook) in laid.items()}


def _laid(installation: Installation, time: Any, called: Any) -> tuple[Swap, Hook]:
    swap: Any = installation.swap
    function = swap.current()
    made = Swap(swap.owner, swap.name)
    hook = Hook(function, functools.partial(time, called(installation, function)))
    made.put(hook.layer)
    return made, hook


def _lift(installation: Installation, made: Swap, _hook: Hook) -> None:
    made.take_off()
    swap = installation.swap
    if swap is not None and not swap.is_active:
        # It was taken off below the layer.
        swap.clear()


@functools.cache
def _how(name: str) -> tuple[Any, Any] | None:
    """How the calls of the patch of this name are timed; None if they are not."""
    return next((how for pattern, how in _TIMED.items() if fnmatchcase(name, pattern)), None)
