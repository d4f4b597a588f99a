"""The functions that run for each call, in the place of stock's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.client import BEGINNING
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import PlanStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.http.httpx.calls import HttpxInstrumentation
    from otel_fastpath.patching.swapping.diverting import Diversions

# Where a transport of stock's keeps its `HttpxInstrumentation`.
PLANS: Final = PlanStore("_otel_fastpath")
_NAMES: Final = (
    *("tracer", "duration_histogram_old", "duration_histogram_new", "sem_conv_opt_in_mode", "request_hook"),
    *("response_hook", "excluded_urls", "captured_request_headers", "captured_response_headers", "sensitive_headers"),
)


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
        begun = set_up.begin(instance, args, kwargs)
        if begun is NotImplemented:
            return original(wrapped, instance, args, kwargs, **set_up.options)
        return set_up.call(begun, wrapped, args, kwargs)

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
        begun = set_up.begin(instance, args, kwargs)
        if begun is NotImplemented:
            return await original(wrapped, instance, args, kwargs, **set_up.options)
        return await set_up.call_async(begun, wrapped, args, kwargs)

    return run


def _bound_to(options: dict[str, Any], bind: Callable[..., Any], original: Callable[..., Any]) -> Any:
    """The function that runs the calls with these options; None if stock's own code has to run them."""
    try:
        return bind(hot.http_httpx_calls.HttpxInstrumentation(options), original)
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
        set_up = PLANS.kept(transport)
        # Stock reads them at each call.
        options = {name: getattr(transport, f"_{name}") for name in _NAMES}
        if set_up is None or any(set_up.options[name] is not each for name, each in options.items()):
            calls = hot.http_httpx_calls
            module = {"module": transport._module} if calls.TAKES_MODULE else {}
            set_up = PLANS.keep(calls.HttpxInstrumentation({**options, **module}), transport)
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
        begun = set_up.begin(self, args, kwargs)
        if begun is NotImplemented:
            return original(self, *args, **kwargs)
        return set_up.call(begun, self._transport.handle_request, args, kwargs)

    return handle_request


def make_async_transport(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make a replacement for the method `handle_async_request` of stock's transport."""

    async def handle_async_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        set_up = _of_transport(self)
        if set_up is None:
            return await original(self, *args, **kwargs)
        begun = set_up.begin(self, args, kwargs)
        if begun is NotImplemented:
            return await original(self, *args, **kwargs)
        return await set_up.call_async(begun, self._transport.handle_async_request, args, kwargs)

    return handle_async_request
