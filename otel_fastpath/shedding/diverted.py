"""Layers over hooks that libraries hold as functions of their own: what a patch has diverted (`swapping.diverting`).

Such a function is in no attribute that a layer could be laid over. It passes its calls on to a hook, and with a layer
to that.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.patch import Installation, State, installations
from otel_fastpath.shedding.timing import CountedHook, time_call
from otel_fastpath.shedding.watches import standing_in
from otel_fastpath.shedding.wsgi_timing import standing_in_application

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PLACE: Final = "the guard"


def _calls_none(_installation: Installation, _function: Any, hook: Any) -> Any:
    """A hook that calls nothing of the host's."""
    return functools.partial(time_call, hook)


def _calls_argument(index: int, name: str) -> Callable[..., Any]:
    """A hook that is given what it calls, as the argument at this index or of this name."""

    def calls(_installation: Installation, _function: Any, hook: Any) -> Any:
        def time(counted: CountedHook, args: Any, kwargs: Any) -> Any:
            if name in kwargs:
                kwargs = {**kwargs, name: standing_in(kwargs[name])}
            elif index < len(args):
                args = (*args[:index], standing_in(args[index]), *args[index + 1 :])
            return time_call(hook, counted, args, kwargs)

        return time

    return calls


def _calls_variable(name: str) -> Callable[..., Any]:
    """A hook that calls a variable of stock's closure: a twin of it is made, in which the watch stands."""

    def calls(installation: Installation, function: Any, _hook: Any) -> Any:
        twin = installation.patch.diversions.twin(function, name, standing_in)  # type: ignore[union-attr]  # it has some
        return functools.partial(time_call, twin)

    return calls


def _serves(installation: Installation, function: Any, _hook: Any) -> Any:
    """Flask's hook around the application, which also calls the server's `start_response`."""
    twin = installation.patch.diversions.twin(function, "wsgi_app", standing_in_application)  # type: ignore[union-attr]  # likewise

    def time(counted: CountedHook, args: Any, kwargs: Any) -> Any:
        given = *args[:1], *map(standing_in, args[1:])
        return time_call(twin, counted, given, kwargs)

    return time


# The name of a patch -> what its hooks call of the host's.
_TIMED: Final = {
    "aio_pika.callback": _calls_variable("callback"),
    "aio_pika.hooks": _calls_argument(0, "wrapped"),
    "aiobotocore.calls": _calls_argument(1, "original_func"),
    "aiokafka.hooks": _calls_argument(0, "func"),
    "aiohttp_client.trace_config": _calls_none,
    "anthropic.hooks": _calls_argument(0, "wrapped"),
    "botocore.calls": _calls_argument(1, "original_func"),
    "celery.hooks": _calls_none,
    "aiohttp_server.request": _calls_argument(1, "handler"),
    "flask.request": _serves,
    "flask.before_request": _calls_none,
    "flask.teardown_request": _calls_none,
    "kafka_python.hooks": _calls_argument(0, "func"),
    "httpx.sync": _calls_argument(0, "wrapped"),
    "httpx.async": _calls_argument(0, "wrapped"),
    "pika.callback": _calls_variable("callback"),
    "pika.publish": _calls_variable("original_function"),
    "requests.send": _calls_variable("wrapped_send"),
    "urllib3.urlopen": _calls_argument(0, "wrapped"),
}
# OpenTelemetry's transports of httpx call one that they keep: these are not timed.
_NOT_TIMED: Final = frozenset({"handle_request", "handle_async_request"})


class Diverted:
    """The layers over diverted hooks."""

    def __init__(self) -> None:
        # The function or partial object -> its patch and the hook, which its layer keeps: it may refer to the function.
        self._laid: weakref.WeakKeyDictionary[Any, tuple[Installation, weakref.ref[CountedHook]]]
        self._laid = weakref.WeakKeyDictionary()

    def hooks(self) -> Iterator[tuple[str, CountedHook]]:
        """The name of the patch, and the hook, of each layer."""
        for installation, kept in list(self._laid.values()):
            hook = kept()
            if hook is not None:
                yield installation.patch.name, hook

    def lay(self) -> None:
        """Lay a layer over each hook that was diverted since the last time."""
        for installation in installations():
            if installation.patch.name in _TIMED and installation.state is State.APPLIED:
                for function in installation.patch.diversions.diverted():  # type: ignore[union-attr]  # these have some
                    call_guarded(_PLACE, self._lay, installation, function)

    def _lay(self, installation: Installation, function: Any) -> None:
        diversions: Any = installation.patch.diversions
        below = diversions.replacement(function)
        if below is None or getattr(function, "__name__", "") in _NOT_TIMED:
            return
        known = self._hook_of(function)
        if known is not None and below is known.layer:
            return
        hook = CountedHook(below, _TIMED[installation.patch.name](installation, function, below))
        diversions.redirect(function, hook.layer)
        self._laid[function] = installation, weakref.ref(hook)

    def _hook_of(self, function: Any) -> CountedHook | None:
        laid = self._laid.get(function)
        return None if laid is None else laid[1]()

    def lift(self) -> None:
        """Remove all layers."""
        for function, (installation, _) in list(self._laid.items()):
            call_guarded(_PLACE, _lift, installation.patch.diversions, function, self._hook_of(function))
        self._laid.clear()


def _lift(diversions: Any, function: Any, hook: CountedHook | None) -> None:
    if hook is not None and diversions.replacement(function) is hook.layer:
        diversions.redirect(function, hook.below)
