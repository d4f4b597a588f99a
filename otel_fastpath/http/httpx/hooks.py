"""The functions that run for each call, in the place of stock's."""

from __future__ import annotations

from functools import partial
from timeit import default_timer
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.http.httpx.calls import BEGINNING
from otel_fastpath.http.httpx.set_up import TAKES_MODULE, HttpxInstrumentation
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.patching.diverting import Diversions

# Where a transport of stock's keeps its `HttpxInstrumentation`.
_KEPT: Final = "_otel_fastpath"
_NAMES: Final = (
    *("tracer", "duration_histogram_old", "duration_histogram_new", "sem_conv_opt_in_mode", "request_hook"),
    *("response_hook", "excluded_urls", "captured_request_headers", "captured_response_headers", "sensitive_headers"),
)


def call(  # noqa: C901  # the begin, the call and the end stand in one `try`
    set_up: HttpxInstrumentation, wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a call as stock does; returns `NotImplemented`, and does nothing, if only stock's own code can."""
    calls, hook = set_up.calls, set_up.response_hook
    begun = calls.begin(args, kwargs)
    if begun is NotImplemented:
        return NotImplemented
    if begun is None:
        return wrapped(*args, **kwargs)
    try:
        if not calls.enter(begun):
            return wrapped(*args, **kwargs)
        if set_up.request_hook is not None:
            set_up.request_hook(begun.span, begun.info)
        calls.propagate(begun)
        start = default_timer()
        try:
            response = wrapped(*args)
        except Exception as error:
            seconds = default_timer() - start
            response = set_up.response_of(error)
            if response is not None:
                calls.record_response(begun, response)
                if hook is not None and (info := set_up.response_info(response)) is not None:
                    hook(begun.span, begun.info, info)
            set_up.record_error(begun, error, seconds)
            raise
        seconds = default_timer() - start
        answer = calls.record_response(begun, response)
        if hook is not None and (info := set_up.response_info(response)) is not None:
            hook(begun.span, begun.info, info)
        if answer is not None:
            answer.record(seconds)
        calls.close(begun, None)
    except BaseException as error:
        calls.close(begun, error)
        raise
    return response


async def call_async(  # noqa: C901  # as above
    set_up: HttpxInstrumentation, wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `call`, for an asynchronous one."""
    calls, hook = set_up.calls, set_up.response_hook
    begun = calls.begin(args, kwargs)
    if begun is NotImplemented:
        return NotImplemented
    if begun is None:
        return await wrapped(*args, **kwargs)
    try:
        if not calls.enter(begun):
            return await wrapped(*args, **kwargs)
        if set_up.request_hook is not None:
            await set_up.request_hook(begun.span, begun.info)
        calls.propagate(begun)
        start = default_timer()
        try:
            response = await wrapped(*args)
        except Exception as error:
            seconds = default_timer() - start
            response = set_up.response_of(error)
            if response is not None:
                calls.record_response(begun, response)
                if hook is not None and (info := set_up.response_info(response)) is not None:
                    await hook(begun.span, begun.info, info)
            set_up.record_error(begun, error, seconds)
            raise
        seconds = default_timer() - start
        answer = calls.record_response(begun, response)
        if hook is not None and (info := set_up.response_info(response)) is not None:
            await hook(begun.span, begun.info, info)
        if answer is not None:
            answer.record(seconds)
        calls.close(begun, None)
    except BaseException as error:
        calls.close(begun, error)
        raise
    return response


def make_wrapper(original: Callable[..., Any], diversions: Diversions, method: str) -> Callable[..., Any]:
    """Make a replacement for `_handle_request_wrapper`, with which stock's set-up wraps the methods of transports.

    It is bound to the options of the set-up. The first call lets that partial object call a function for these options.
    """

    def _handle_request_wrapper(
        wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any, **options: Any
    ) -> Any:
        function = _bound_to(options, _bound, original)
        if function is None:
            return original(wrapped, instance, args, kwargs, **options)
        _rebind(instance, method, options, function, diversions)
        return function(wrapped, instance, args, kwargs)

    return _handle_request_wrapper


def _bound(set_up: HttpxInstrumentation, original: Callable[..., Any]) -> Callable[..., Any]:
    def run(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        result = call(set_up, wrapped, args, kwargs)
        return original(wrapped, instance, args, kwargs, **set_up.options) if result is NotImplemented else result

    return run


def make_async_wrapper(original: Callable[..., Any], diversions: Diversions, method: str) -> Callable[..., Any]:
    """As `make_wrapper`, for `_handle_async_request_wrapper`."""

    async def _handle_async_request_wrapper(
        wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any, **options: Any
    ) -> Any:
        function = _bound_to(options, _bound_async, original)
        if function is None:
            return await original(wrapped, instance, args, kwargs, **options)
        _rebind(instance, method, options, function, diversions)
        return await function(wrapped, instance, args, kwargs)

    return _handle_async_request_wrapper


def _bound_async(set_up: HttpxInstrumentation, original: Callable[..., Any]) -> Callable[..., Any]:
    async def run(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        result = await call_async(set_up, wrapped, args, kwargs)
        if result is NotImplemented:
            return await original(wrapped, instance, args, kwargs, **set_up.options)
        return result

    return run


def _bound_to(options: dict[str, Any], bind: Callable[..., Any], original: Callable[..., Any]) -> Any:
    """The function that runs the calls with these options; None if stock's own code has to run them."""
    try:
        return bind(HttpxInstrumentation(options), original)
    except Exception as error:
        faults.absorb_any(BEGINNING, error)
        return None


def _rebind(
    instance: Any, method: str, options: dict[str, Any], run: Callable[..., Any], diversions: Diversions
) -> None:
    """Find the partial object with these options around the method of a transport, and let it call the function."""
    try:
        layers = [
            vars(owner).get(method) for owner in (instance, *type(instance).__mro__) if hasattr(owner, "__dict__")
        ]
        while layers:
            layer = layers.pop()
            bound = getattr(layer, "_self_wrapper", None)
            if type(bound) is partial and all(bound.keywords.get(key) is each for key, each in options.items()):
                diversions.rebind(bound, run)
            below = getattr(layer, "__wrapped__", None)
            if below is not None and below is not layer:
                layers.append(below)
    except Exception as error:
        faults.absorb_any(BEGINNING, error)


def _of_transport(transport: Any) -> HttpxInstrumentation | None:
    """The `HttpxInstrumentation` of one of stock's transports; None if stock's own code has to run."""
    set_up: HttpxInstrumentation | None = None
    try:
        set_up = vars(transport).get(_KEPT)
        # Stock reads them at each call.
        options = {name: getattr(transport, f"_{name}") for name in _NAMES}
        if set_up is None or any(set_up.options[name] is not each for name, each in options.items()):
            set_up = HttpxInstrumentation({**options, "module": transport._module} if TAKES_MODULE else options)
            setattr(transport, _KEPT, set_up)
    except Exception as error:
        faults.absorb_any(BEGINNING, error)
        return None
    return set_up


def make_transport(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make a replacement for the method `handle_request` of stock's transport."""

    def handle_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        set_up = _of_transport(self)
        if set_up is None:
            return original(self, *args, **kwargs)
        result = call(set_up, self._transport.handle_request, args, kwargs)
        return original(self, *args, **kwargs) if result is NotImplemented else result

    return handle_request


def make_async_transport(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make a replacement for the method `handle_async_request` of stock's transport."""

    async def handle_async_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        set_up = _of_transport(self)
        if set_up is None:
            return await original(self, *args, **kwargs)
        result = await call_async(set_up, self._transport.handle_async_request, args, kwargs)
        return await original(self, *args, **kwargs) if result is NotImplemented else result

    return handle_async_request
