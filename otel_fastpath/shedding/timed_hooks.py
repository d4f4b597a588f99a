"""The hooks of this package whose calls are counted and timed, and what they call of the host's meanwhile."""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import Installation, State, installations
from otel_fastpath.patching.swapping.swap import Swap
from otel_fastpath.shedding.diverted import Diverted
from otel_fastpath.shedding.timing import CountedHook, await_counted, time_call
from otel_fastpath.shedding.watches import TimeWatch, standing_in
from otel_fastpath.shedding.wsgi_timing import TimedBody, standing_in_application, standing_in_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PLACE: Final = "the guard"


# The middleware itself, and those of an application.
_ASGI_ARGUMENTS: Final = 4
_WSGI_ARGUMENTS: Final = 3


class _TimedScope:
    """A context manager whose making, entering and leaving are timed together."""

    def __init__(self, manager: Any, watch: TimeWatch, hook: CountedHook) -> None:
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


def _time_manager(function: Any, hook: CountedHook, args: Any, kwargs: Any) -> Any:
    watch = TimeWatch()
    return _TimedScope(watch.call(function, args, kwargs, on=True), watch, hook)


def _around(middleware: Any, name: str, stand: Callable[[Any], Any]) -> Any:
    """A copy of a middleware for one request, whose application is not timed; None if it cannot be copied."""
    try:
        copy = object.__new__(type(middleware))
        vars(copy).update(vars(middleware))
        setattr(copy, name, stand(getattr(middleware, name)))
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        return None
    return copy


def _time_asgi(function: Any, hook: CountedHook, args: Any, kwargs: Any) -> Any:
    """A request of the stock middleware: a copy of it, for this request, has the application that is not timed."""
    if len(args) != _ASGI_ARGUMENTS or kwargs:
        return function(*args, **kwargs)
    watch = TimeWatch()
    middleware, scope, receive, send = args
    copy = _around(middleware, "app", watch.of_application)
    if copy is None:
        return function(*args)
    given = copy, scope, watch.of_host(receive), watch.of_host(send)
    return await_counted(watch.run(function, given, kwargs, on=True), watch, hook)


def _time_wsgi(function: Any, hook: CountedHook, args: Any, kwargs: Any) -> Any:
    """A request of the stock middleware, likewise."""
    if len(args) != _WSGI_ARGUMENTS or kwargs:
        return function(*args, **kwargs)
    watch = TimeWatch()
    middleware, environ, start_response = args
    copy = _around(middleware, "wsgi", standing_in_application)
    if copy is None:
        return function(*args)
    given = copy, environ, standing_in_server(start_response, watch)
    body = watch.call(function, given, kwargs, on=True)
    return TimedBody(body, watch, lambda: hook.add(watch.total()))


def _time_fastapi(function: Any, hook: CountedHook, args: Any, kwargs: Any) -> Any:
    """A request with FastAPI's own telemetry, which is given the application."""
    if not kwargs.keys() >= {"app", "receive", "send"}:
        return function(*args, **kwargs)
    watch = TimeWatch()
    given = {
        **kwargs,
        "app": watch.of_application(kwargs["app"]),
        "receive": watch.of_host(kwargs["receive"]),
        "send": watch.of_host(kwargs["send"]),
    }
    return await_counted(watch.run(function, args, given, on=True), watch, hook)


def _itself(installation: Installation, function: Any) -> Any:  # noqa: ARG001  # as `_twin`
    return function


def _twin(installation: Installation, function: Any) -> Any:
    """The same hook around a host's function in which the watch stands; the function itself if that cannot be made."""
    swap, patch = installation.swap, installation.patch
    try:
        return patch.make(standing_in(swap.callee), installation.settings)  # type: ignore[union-attr]  # it is applied
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        return function


# The name of a patch, or a pattern -> how its calls are timed, and what is called then.
_TIMED: Final[dict[str, tuple[Any, Any]]] = {
    "tracer.start_as_current_span": (_time_manager, _itself),
    "logs.handler_handle": (time_call, _itself),
    "logs.instrumentation_handle": (time_call, _itself),
    "asgi.request": (_time_asgi, _itself),
    "fastapi_own.request": (_time_fastapi, _itself),
    "wsgi.request": (_time_wsgi, _itself),
    "django.*": (time_call, _itself),
    "asyncpg.execute": (time_call, _twin),
    "asyncpg.fetch*": (time_call, _twin),
    "asyncpg.statement.fetch*": (time_call, _twin),
    "psycopg.cursor.execute": (time_call, _twin),
    "psycopg.async_cursor.execute": (time_call, _twin),
    "redis.command": (time_call, _twin),
    "redis.async_command": (time_call, _twin),
    "sqlalchemy.execute": (time_call, _twin),
    "openai.request": (time_call, _twin),
    "openai.request.async": (time_call, _twin),
}


class TimedHooks:
    """The hooks of this process that are timed."""

    def __init__(self) -> None:
        self._laid: dict[Installation, tuple[Swap, CountedHook]] = {}
        self._diverted = Diverted()

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
                faults.absorb_any(_PLACE, error)
        self._diverted.lay()

    def lift(self) -> None:
        """Remove all layers."""
        while self._laid:
            installation, laid = self._laid.popitem()
            try:
                _lift(installation, *laid)
            except Exception as error:
                faults.absorb_any(_PLACE, error)
        self._diverted.lift()

    def _hooks(self) -> Iterator[tuple[str, CountedHook]]:
        """The name of the patch, and the hook, of each layer."""
        yield from ((installation.patch.name, hook) for installation, (_, hook) in self._laid.copy().items())
        yield from self._diverted.hooks()

    def renew(self) -> None:
        """Something else is shed from now on: forget most of what calls have taken."""
        for _, hook in self._hooks():
            hook.renew()

    def take(self) -> float:
        """The CPU seconds of the calls since the last time, at their present prices."""
        return sum(hook.take() * hook.price() for _, hook in self._hooks()) / 1e9

    def prices(self) -> dict[str, tuple[int, float]]:
        """Name of the patch -> the number of calls and the average price of one, in nanoseconds."""
        found: dict[str, tuple[int, float]] = {}
        for name, hook in self._hooks():
            calls, price = found.get(name, (0, 0.0))
            every = calls + hook.calls
            found[name] = every, (calls * price + hook.calls * hook.price()) / (every or 1)
        return found


def _laid(installation: Installation, time: Any, called: Any) -> tuple[Swap, CountedHook]:
    swap: Any = installation.swap
    function = swap.current()
    made = Swap(swap.owner, swap.name)
    hook = CountedHook(function, functools.partial(time, called(installation, function)))
    made.put(hook.layer)
    return made, hook


def _lift(installation: Installation, made: Swap, _hook: CountedHook) -> None:
    made.take_off()
    swap = installation.swap
    if swap is not None and not swap.is_active:
        # It was taken off below the layer.
        swap.clear()


@functools.cache
def _how(name: str) -> tuple[Any, Any] | None:
    """How the calls of the patch of this name are timed; None if they are not."""
    return next((how for pattern, how in _TIMED.items() if fnmatchcase(name, pattern)), None)
