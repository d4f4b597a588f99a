"""The start and the end of a call of an LLM, and the chunks of its answer. Plain Python; compiled as `invocations_c`.

Stock's `InferenceInvocation` makes two records of 51 fields at the start. Here, they have only the fields that are set:
the others have their values in the class. What stock's code calls of the API, the SDK and other code's hooks is called
here, too, in the same order.
"""

from __future__ import annotations

import os as _os
import timeit as _timeit
from typing import TYPE_CHECKING, Any

from opentelemetry.context.context import Context
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.semconv.attributes import server_attributes
from opentelemetry.trace import SpanKind
from opentelemetry.util.genai import _inference_invocation as _inference
from opentelemetry.util.genai import _invocation as _base
from opentelemetry.util.genai._conversation_context import CONVERSATION_ID_KEY
from opentelemetry.util.genai._inference_invocation import (
    CLIENT_INFERENCE_CONTEXT_KEY,
    InferenceData,
    InferenceInvocation,
)
from opentelemetry.util.genai.types import ContentCapturingMode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import set_item, with_value
from otel_fastpath.others.genai_calls.call_fields import MERGED, has_dicts, metric_attributes, new_data
from otel_fastpath.others.genai_calls.stock_genai import BEGUN, MEASURED
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.settings import VARIABLES, encoded
from otel_fastpath.trace.context.context_functions import attach_known, known_context
from otel_fastpath.trace.context.current_context import with_span

if TYPE_CHECKING:
    from collections.abc import Callable

_STARTING = "the start of a genai call"
_CHUNK = "a chunk of a genai call"
_MERGING = "merging the data of genai calls"
_CLIENT = SpanKind.CLIENT
_CHAT = _names.GenAiOperationNameValues.CHAT.value
_OPERATION = _names.GEN_AI_OPERATION_NAME
_PROVIDER = _names.GEN_AI_PROVIDER_NAME
_MODEL = _names.GEN_AI_REQUEST_MODEL
_ADDRESS = server_attributes.SERVER_ADDRESS
_PORT = server_attributes.SERVER_PORT
_EVENT_ONLY = ContentCapturingMode.EVENT_ONLY
_BOTH = ContentCapturingMode.SPAN_AND_EVENT
_EMIT = encoded("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT")
_environ = _os.environ
# The fields of a call that has not started, in stock's order.
_CALL: dict[str, Any] = {
    "data": None,
    "_context_key": CLIENT_INFERENCE_CONTEXT_KEY,
    "_dataclass_class_object": InferenceData,
    **dict.fromkeys(("_tracer", "_instruments", "_logger", "_completion_hook", "_error_type_resolver")),
    **dict.fromkeys(("_operation_name", "_content_capturing_mode", "attributes", "metric_attributes")),
    **dict.fromkeys(("conversation_id", "_start_attributes")),
    "_start_span": True,
    **dict.fromkeys(("span", "_span_context", "_attach_to_context", "_context_token", "_monotonic_start_s")),
    **dict.fromkeys(("_request_stream", "_ttfc_seconds", "_stream_last_chunk_at")),
    "_finished": False,
    **dict.fromkeys(("_provider", "_request_model", "_server_address", "_server_port", "_emit_event")),
}
# What other code may replace in stock's modules is looked up at each call.
_base_globals = vars(_base)
_inference_globals = vars(_inference)
_begun = Facts(UNKNOWN)
_measured = Facts(UNKNOWN)


class StartedSpan:
    """In the place of a tracer, for stock's code to go on with a span that has been started."""

    __slots__ = ("span",)

    def __init__(self) -> None:
        self.span: Any = None

    def start_span(self, **_arguments: Any) -> Any:
        """The span."""
        return self.span


def bind_init(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `InferenceInvocation.__init__`."""
    switch = Switch()

    def __init__(  # noqa: N807  # what stock's is called
        self: Any,
        tracer: Any,
        instruments: Any,
        logger: Any,
        completion_hook: Any,
        provider: str,
        *,
        request_model: str | None = None,
        server_address: str | None = None,
        server_port: int | None = None,
        operation_name: str | None = None,
        error_type_resolver: Any = None,
        content_capturing_mode: Any = None,
        start_span: bool = True,
        context: Any = None,
        _attach_to_context: bool = True,
        conversation_id: str | None = None,
    ) -> None:
        started = None
        try:
            known = known_context(context) if start_span is True and not switch.inert and _can_start(self) else None
            if known is not None:
                given = tracer, instruments, logger, completion_hook, error_type_resolver, conversation_id
                own = _prepare(given, provider, request_model, server_address, server_port, operation_name, known)
                _set_mode(own, content_capturing_mode)
                known, below = _contexts(own, known, context)
                started = _start(tracer, own, request_model, below)
                _open(self, own, started.span, known, _attach_to_context)
                return
        except Exception as error:
            faults.absorb(_STARTING, error)
        original(
            self,
            tracer if started is None else started,
            instruments,
            logger,
            completion_hook,
            provider,
            request_model=request_model,
            server_address=server_address,
            server_port=server_port,
            operation_name=operation_name,
            error_type_resolver=error_type_resolver,
            content_capturing_mode=content_capturing_mode,
            start_span=start_span,
            context=context,
            _attach_to_context=_attach_to_context,
            conversation_id=conversation_id,
        )
        if started is not None:
            self._tracer = tracer

    return make_switchable(original, __init__, switch)


def _can_start(call: Any) -> bool:
    return type(call) is InferenceInvocation and (_begun.hold() or BEGUN.holds_again(_begun))


def _set_mode(own: dict[str, Any], mode: Any) -> None:
    """Set which content is recorded, and whether the call has an event."""
    if mode is None:
        mode = _base_globals["get_content_capturing_mode"]()
    own["_content_capturing_mode"] = mode
    own["_emit_event"] = _emits(mode)


def _contexts(own: dict[str, Any], known: Context, given: Any) -> tuple[Context, Any]:
    """The context that a call starts in, and the one that its tracer gets: with the conversation, if it has one."""
    conversation = own["conversation_id"]
    if not conversation:
        return known, given
    known = with_value(Context, known, CONVERSATION_ID_KEY, conversation)
    return known, known


def _start(tracer: Any, own: dict[str, Any], model: Any, context: Any) -> StartedSpan:
    """Start the span of a call as stock does."""
    operation = own["_operation_name"]
    name = f"{operation} {model}" if model else operation
    started = StartedSpan()
    started.span = tracer.start_span(name=name, kind=_CLIENT, attributes=own["_start_attributes"], context=context)
    return started


def _emits(mode: Any) -> bool:
    """Whether the call has an event, as `_should_emit_event` of stock finds it."""
    if _os.environ is _environ and _EMIT not in VARIABLES:
        return mode is _EVENT_ONLY or mode is _BOTH
    return _inference_globals["_should_emit_event"](mode)  # type: ignore[no-any-return]  # stock's


def _prepare(
    given: tuple[Any, ...], provider: Any, model: Any, address: Any, port: Any, operation: Any, context: Context
) -> dict[str, Any]:
    """The fields of a call that starts in this context; the span and what follows from it are missing."""
    tracer, instruments, logger, hook, resolver, conversation = given
    if not operation:
        operation = _CHAT
    start = {_OPERATION: operation}
    attributes: dict[str, object] = {}
    metric_attributes: dict[str, object] = {}
    record = {
        "operation_name": operation,
        "input_messages": [],
        "output_messages": [],
        "system_instructions": [],
        "attributes": attributes,
        "metric_attributes": metric_attributes,
    }
    if provider is not None:
        start[_PROVIDER] = record["provider_name"] = provider
    if model is not None:
        start[_MODEL] = record["request_model"] = model
    if address is not None:
        start[_ADDRESS] = record["server_address"] = address
    if port is not None:
        start[_PORT] = record["server_port"] = port
    if conversation is not None:
        record["conversation_id"] = conversation
    data = InferenceData.__new__(InferenceData)
    data.__dict__ = record
    if conversation is None:
        ambient = context.get(CONVERSATION_ID_KEY)
        conversation = ambient if isinstance(ambient, str) else None
    own = _CALL.copy()
    own["data"] = data
    own["_tracer"] = tracer
    own["_instruments"] = instruments
    own["_logger"] = logger
    own["_completion_hook"] = hook
    own["_error_type_resolver"] = resolver
    own["_operation_name"] = operation
    own["attributes"] = attributes
    own["metric_attributes"] = metric_attributes
    own["conversation_id"] = conversation
    own["_start_attributes"] = start
    own["_provider"] = provider
    own["_request_model"] = model
    own["_server_address"] = address
    own["_server_port"] = port
    return own


def _open(self: Any, own: dict[str, object], span: Any, context: Context, attaches: Any) -> None:
    """Set the fields of a call whose span has started, and make that current as the last step."""
    inner = with_span(context, span)
    # Nobody else has this context yet.
    set_item(inner, CLIENT_INFERENCE_CONTEXT_KEY, new_data())
    own["span"] = span
    own["_span_context"] = inner
    own["_attach_to_context"] = attaches
    own["_monotonic_start_s"] = _timeit.default_timer()
    self.__dict__ = own
    if attaches:
        own["_context_token"] = attach_known(inner) or _base_globals["attach"](inner)


def bind_on_stream_chunk(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `InferenceInvocation._on_stream_chunk`."""
    switch = Switch()

    def _on_stream_chunk(self: Any, chunk_at: float) -> None:
        is_first = None
        try:
            if (
                type(self) is InferenceInvocation
                and type(self.data) is InferenceData
                and not switch.inert
                and (_measured.hold() or MEASURED.holds_again(_measured))
            ):
                own = self.__dict__
                data = self.data.__dict__
                if has_dicts(own):
                    attributes = metric_attributes(own, data)
                    before = own["_stream_last_chunk_at"]
                    delta = max(chunk_at - (own["_monotonic_start_s"] if before is None else before), 0.0)
                    is_first = own["_ttfc_seconds"] is None
        except Exception as error:
            faults.absorb(_CHUNK, error)
            is_first = None
        if is_first is None:
            original(self, chunk_at)
            return
        own["_stream_last_chunk_at"] = chunk_at
        if is_first:
            own["_ttfc_seconds"] = delta
        try:
            if own["_start_span"]:
                instruments = own["_instruments"]
                chunks = instruments.time_to_first_chunk if is_first else instruments.time_per_output_chunk
                chunks.record(delta, attributes=attributes, context=own["_span_context"])
        except Exception as error:
            faults.absorb(_CHUNK, error)
        data["request_stream"] = True
        data["response_time_to_first_chunk"] = own["_ttfc_seconds"]

    return make_switchable(original, _on_stream_chunk, switch)


def bind_merge(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `_ContextData.merge`."""
    switch = Switch()

    def merge(self: Any, other: Any, *, overwrite: bool = True) -> None:
        try:
            # Without `overwrite`, it is called by stock's end of a call only.
            if overwrite and type(self) is InferenceData and type(other) is InferenceData and not switch.inert:
                _overwrite(self.__dict__, other.__dict__)
                return
        except Exception as error:
            faults.absorb(_MERGING, error)
        original(self, other, overwrite=overwrite)

    return make_switchable(original, merge, switch)


def _overwrite(data: dict[str, Any], given: dict[str, Any]) -> None:
    for field, value in given.items():
        if value is not None and field in MERGED:
            data[field] = value  # noqa: PERF403  # more may be there
    data["attributes"].update(given["attributes"])
    data["metric_attributes"].update(given["metric_attributes"])
