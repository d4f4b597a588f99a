"""The span of a call that gRPC's clients make, and what is sent along. Plain Python; compiled as `sent_calls_c`.

The interceptors themselves are stock's: these are functions that they call.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from grpc import RpcError
from grpc.aio import ClientCallDetails, Metadata
from opentelemetry import propagate
from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.instrumentation.grpc import _client, _utilities
from opentelemetry.propagators.textmap import default_setter
from opentelemetry.semconv._incubating.attributes import rpc_attributes
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import item, new_tuple
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined, unreplaced
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.context_functions import known_context
from otel_fastpath.trace.propagation.composite import _written
from otel_fastpath.trace.propagation.global_propagator import w3c_writer
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from collections.abc import Callable

_CLIENT = SpanKind.CLIENT
_SYSTEM = rpc_attributes.RPC_SYSTEM
_CODE = rpc_attributes.RPC_GRPC_STATUS_CODE
_METHOD = rpc_attributes.RPC_METHOD
_SERVICE = rpc_attributes.RPC_SERVICE
_PARENT = "traceparent"
_STARTING = "the span of a call of gRPC"
_SENDING = "the metadata of a call of gRPC"
# What other code may replace in stock's modules is looked up at each call.
_globals = vars(_client)
_carrier_setter = _client._carrier_setter
# Whether details and metadata of calls of asyncio are what they are in the releases that are known.
_are_known = (
    ClientCallDetails._fields == ("method", "timeout", "metadata", "credentials", "wait_for_ready")
    and type(getattr(Metadata(), "_metadata", None)) is OrderedDict
)
_inject = as_defined(propagate, "inject")
_Interceptor = _client.OpenTelemetryClientInterceptor
_ending = Facts(
    [
        unreplaced(_Interceptor, "_trace_result"),
        unreplaced(_client, "_make_future_done_callback"),
        unreplaced(_utilities.RpcInfo, "__init__"),
    ]
)
_setting = Facts([unreplaced(_client._CarrierSetter, "set")])


def bind_start_span(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `OpenTelemetryClientInterceptor._start_span`."""
    switch = Switch()

    def _start_span(
        self: Any,
        method: str,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
        **more: Any,
    ) -> Any:
        try:
            if not switch.inert and not more:
                service, slash, name = method.lstrip("/").partition("/")
                attributes: dict[str, Any] = {_SYSTEM: "grpc", _CODE: 0}
                if slash:
                    attributes[_METHOD] = name
                    attributes[_SERVICE] = service
                return self._tracer.start_as_current_span(
                    method,
                    None,
                    _CLIENT,
                    attributes,
                    (),
                    None,
                    record_exception,
                    set_status_on_exception,
                    end_on_exit,
                )
        except Exception as error:
            faults.absorb(_STARTING, error)
        return original(
            self,
            method,
            record_exception=record_exception,
            set_status_on_exception=set_status_on_exception,
            end_on_exit=end_on_exit,
            **more,
        )

    return make_switchable(original, _start_span, switch)


def bind_intercept(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `OpenTelemetryClientInterceptor._intercept`."""
    switch = Switch()

    def _intercept(self: Any, request: Any, metadata: Any, client_info: Any, invoker: Any) -> Any:
        carrier = None
        try:
            # What can be iterated over once, and what is suppressed, is left to stock.
            is_plain = not metadata or type(metadata) is tuple or type(metadata) is list
            if is_plain and not switch.inert and _is_usual(self) and _globals["is_instrumentation_enabled"]():
                carrier = dict(metadata) if metadata else {}
        except Exception as error:
            faults.absorb(_SENDING, error)
        if carrier is None:
            return original(self, request, metadata, client_info, invoker)
        result = None
        with self._start_span(
            client_info.full_method, end_on_exit=False, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                metadata = _propagated(carrier, metadata)
                if self._request_hook:
                    self._call_request_hook(span, request)
                result = invoker(request, metadata)
            except Exception as error:
                _describe(span, error)
                raise
            finally:
                if result is None:
                    end_span(span, _SENDING)
        return self._trace_result(span, Outcome.__new__(Outcome), result)

    return make_switchable(original, _intercept, switch)


def _propagated(carrier: dict[str, Any], metadata: Any) -> Any:
    """The metadata in a dict, with what the propagators add."""
    try:
        _globals["inject"](carrier, setter=_globals["_carrier_setter"])
        return tuple(carrier.items())
    except Exception as error:
        faults.absorb(_SENDING, error)
        return metadata


def _is_usual(interceptor: Any) -> bool:
    """Whether nobody but stock's own code looks at what came of its calls."""
    return type(interceptor) is _Interceptor and _ending.hold() and "_trace_result" not in interceptor.__dict__


class Outcome:
    """In the place of stock's `RpcInfo`, which nobody reads: what came of a call."""

    __slots__ = ("error", "response")


def _describe(span: Any, error: Exception) -> None:
    """Describe what a call raised; an error of gRPC's that an application raises may have no code."""
    try:
        if isinstance(error, RpcError) and hasattr(error, "code"):
            span.set_attribute(_CODE, error.code().value[0])
        text = "".join((type(error).__name__, ": ", faults.text_of(error, format)))
        span.set_status(Status(StatusCode.ERROR, text))
        span.record_exception(error)
    except Exception as fault:
        faults.absorb_any(_SENDING, fault)


def _header(setter: Any) -> str | None:
    """What the propagators write of the current span, if that is all that they write; else None."""
    # The names of W3C's headers are in lower case, as the setter has them.
    if setter is not _carrier_setter or not _setting.hold() or w3c_writer() is None:
        return None
    context = known_context(None)
    return None if context is None or context.get(_BAGGAGE_KEY) else _written(context)


def bind_inject(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `inject`, as the module of clients has imported it."""
    switch = Switch()

    def inject(carrier: Any, context: Any = None, setter: Any = default_setter) -> None:
        header = None
        try:
            if context is None and not switch.inert:
                header = _header(setter)
        except Exception as error:
            faults.absorb(_SENDING, error)
        if header is None:
            original(carrier, context, setter=setter)
        elif header:
            carrier[_PARENT] = header

    return make_switchable(original, inject, switch)


def bind_propagate_trace(original: Any) -> Callable[..., Any]:
    """Make the replacement for `_BaseAioClientInterceptor.propagate_trace_in_details`."""
    switch, module = Switch(), original.__globals__

    def propagate_trace_in_details(client_call_details: Any) -> Any:
        try:
            details = client_call_details
            header = None if switch.inert else _header(module["_carrier_setter"])
            if header and _are_known and type(details) is ClientCallDetails and module["inject"] is _inject:
                metadata = _with_header(item(details, 2), header)
                if metadata is not None:
                    return new_tuple(
                        ClientCallDetails,
                        (item(details, 0), item(details, 1), metadata, item(details, 3), item(details, 4)),
                    )
        except Exception as error:
            faults.absorb(_SENDING, error)
        return original(client_call_details)

    return make_switchable(original, propagate_trace_in_details, switch)


def _with_header(metadata: Any, header: str) -> Any:
    """A copy of metadata with this header; None if stock must make it."""
    made = Metadata()
    stored = made._metadata
    if metadata is not None:
        if type(metadata) is not Metadata:
            return None
        for key, values in metadata._metadata.items():
            if values:
                stored[key] = [*values]
    if _PARENT in stored:
        return None
    stored[_PARENT] = [header]
    return made
