"""The span of a call that gRPC's servers get, below the client's. Plain Python; compiled as `served_calls_c`.

The interceptors themselves are stock's: these are methods that they call. What they need of a request is read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import grpc
from grpc._utilities import RpcMethodHandler
from opentelemetry.instrumentation.grpc import _server
from opentelemetry.semconv._incubating.attributes import net_attributes, rpc_attributes
from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item, item, new_tuple
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.stock import unreplaced
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.context_functions import attach_known
from otel_fastpath.trace.context.current_context import detach, restore
from otel_fastpath.trace.propagation.composite import _read
from otel_fastpath.trace.propagation.global_propagator import w3c_reader

if TYPE_CHECKING:
    from collections.abc import Callable

_SERVER = SpanKind.SERVER
_IP = net_attributes.NET_PEER_IP
_NAME = net_attributes.NET_PEER_NAME
_PORT = net_attributes.NET_PEER_PORT
_LOCAL = ("[::1]", "127.0.0.1")
_SYSTEM = rpc_attributes.RPC_SYSTEM
_CODE = rpc_attributes.RPC_GRPC_STATUS_CODE
_METHOD = rpc_attributes.RPC_METHOD
_SERVICE = rpc_attributes.RPC_SERVICE
_AGENT = "user-agent"
_BAGGAGE = "baggage"
_PARENT = "traceparent"
_RECEIVING = "the context of a call that gRPC's server gets"
_STARTING = "the span of a call that gRPC's server gets"
# What other code may replace in stock's module is looked up at each call.
_globals = vars(_server)
# The attributes by method, of which the application has handlers.
_methods: dict[Any, dict[str, Any]] = {}
# The index of a handler's first function.
_FIRST = 4
# What makes handlers, and is not called.
_making = Facts([unreplaced(grpc, f"{kind}_rpc_method_handler") for kind in RpcMethodHandler._fields[4:]])


class RemoteContext:
    """What `OpenTelemetryServerInterceptor._set_remote_context` returns: the context in a request's metadata.

    Args:
        original: Stock's method.
        interceptor: Stock's interceptor.
        servicer_context: Has the metadata.
    """

    __slots__ = ("_entered", "_interceptor", "_original", "_servicer_context", "_token")

    def __init__(self, original: Callable[..., Any], interceptor: Any, servicer_context: Any) -> None:
        self._original, self._interceptor, self._servicer_context = original, interceptor, servicer_context
        self._entered: Any = None
        self._token: Any = None

    def __enter__(self) -> None:
        """Make it the current one."""
        try:
            metadata = self._servicer_context.invocation_metadata()
            if metadata:
                found = {}
                for each in metadata:
                    found[each.key] = each.value
                self._token = attach_known(_remote(found))
            if not metadata or self._token is not None:
                return
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        entered = self._original(self._interceptor, self._servicer_context)
        entered.__enter__()
        self._entered = entered

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Restore the one before."""
        if self._entered is not None:
            return self._entered.__exit__(kind, error, traceback)
        if self._token is not None:
            try:
                detach(self._token)
            except BaseException as fault:
                restore(self._token)
                faults.absorb(_RECEIVING, fault)
        return None


def bind_set_remote_context(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `OpenTelemetryServerInterceptor._set_remote_context`."""
    switch = Switch()

    def _set_remote_context(self: Any, servicer_context: Any) -> Any:
        try:
            if not switch.inert:
                return RemoteContext(original, self, servicer_context)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        return original(self, servicer_context)

    return make_switchable(original, _set_remote_context, switch)


def _remote(found: dict[str, Any]) -> Any:
    """The context that the propagators read from metadata."""
    if w3c_reader() is not None and _BAGGAGE not in found and type(found.get(_PARENT, "")) is str:
        context = _read(found, None)
        if context is not None:
            return context
    return _globals["extract"](found)


def bind_start_span(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `OpenTelemetryServerInterceptor._start_span`."""
    switch = Switch()

    def _start_span(self: Any, handler_call_details: Any, context: Any, set_status_on_exception: Any = False) -> Any:
        try:
            if not switch.inert:
                agent = None
                for each in context.invocation_metadata() or ():
                    if each.key == _AGENT:
                        agent = each.value
                method = handler_call_details.method
                attributes = _describe(method, agent, context.peer())
                scope = method, None, _SERVER, attributes, (), None, True, set_status_on_exception
                return self._tracer.start_as_current_span(*scope)
        except Exception as error:
            faults.absorb(_STARTING, error)
        return original(self, handler_call_details, context, set_status_on_exception=set_status_on_exception)

    return make_switchable(original, _start_span, switch)


def _describe(method: Any, agent: Any, peer: str) -> dict[str, Any]:
    """The attributes of a server's span at its start."""
    of_method = get_item(_methods, method)
    if of_method is None:
        of_method = {_SYSTEM: "grpc", _CODE: 0}
        if method:
            service, slash, name = method.lstrip("/").partition("/")
            if slash:
                of_method[_METHOD] = name
                of_method[_SERVICE] = service
        keep(_methods, method, of_method)
    attributes = of_method.copy()
    if agent is not None:
        attributes["rpc.user_agent"] = agent
    if peer.startswith("unix:"):
        return attributes
    # Such as "ipv4:10.2.1.1:57284,127.0.0.1:57284": the first address.
    end = peer.find(",")
    if end < 0:
        end = len(peer)
    start = peer.find(":", 0, end) + 1
    port = peer.rfind(":", start, end) if start else 0
    if start and port >= 0:
        ip = peer[start:port]
        attributes[_IP] = ip = unquote(ip) if "%" in ip else ip
        attributes[_PORT] = peer[port + 1 : end]
        if ip in _LOCAL:
            attributes[_NAME] = "localhost"
    elif not start:
        _globals["logger"].warning("Failed to parse peer address '%s'", peer)
    return attributes


def bind_wrap_behavior(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `_wrap_rpc_behavior`."""
    switch = Switch()

    def _wrap_rpc_behavior(handler: Any, continuation: Any) -> Any:
        try:
            if type(handler) is RpcMethodHandler and not switch.inert and _making.hold():
                return _wrapped(handler, continuation)
        except Exception as error:
            faults.absorb(_STARTING, error)
        return original(handler, continuation)

    return make_switchable(original, _wrap_rpc_behavior, switch)


def _wrapped(handler: Any, continuation: Any) -> Any:
    """A handler like this one, with what `continuation` makes of its function."""
    takes_stream, gives_stream = item(handler, 0), item(handler, 1)
    index = (2 if takes_stream else 0) + (1 if gives_stream else 0)
    made = continuation(item(handler, _FIRST + index), takes_stream, gives_stream)
    return new_tuple(
        RpcMethodHandler,
        (
            index >= 2,  # noqa: PLR2004  # the two above
            index % 2 == 1,
            item(handler, 2),
            item(handler, 3),
            made if index == 0 else None,
            made if index == 1 else None,
            made if index == 2 else None,  # noqa: PLR2004  # likewise
            made if index == 3 else None,  # noqa: PLR2004  # likewise
        ),
    )
