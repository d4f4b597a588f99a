"""The start and the end of a call of an LLM, and the chunks of its answer. Plain Python; compiled as `invocations_c`.

Stock's `InferenceInvocation` makes two records of 51 fields at the start, and at the end walks through them and through
tables of attributes several times. The replacements read and write the records' own dicts. What stock's code calls of
the API, the SDK and other code's hooks is called here, too, in the same order.
"""

from __future__ import annotations

import timeit as _timeit
from typing import TYPE_CHECKING

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.trace import SpanKind
from opentelemetry.util.genai import _inference_invocation as _inference
from opentelemetry.util.genai import _invocation as _base
from opentelemetry.util.genai._conversation_context import CONVERSATION_ID_KEY
from opentelemetry.util.genai._inference_invocation import (
    CLIENT_INFERENCE_CONTEXT_KEY,
    InferenceData,
    InferenceInvocation,
)

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.others.genai_calls.call_fields import CONTENT, EMPTY, FIRST, MERGED, metric_attributes, new_data
from otel_fastpath.others.genai_calls.stock_genai import BEGUN, MEASURED
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.scope import Switch, is_inert, patching

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_STARTING = "the start of a genai call"
_CHUNK = "a chunk of a genai call"
_MERGING = "merging the data of genai calls"
_CLIENT = SpanKind.CLIENT
_CHAT = _names.GenAiOperationNameValues.CHAT.value
# What other code may replace in stock's modules is looked up at each call.
_base_globals = vars(_base)
_inference_globals = vars(_inference)
_begun = Facts(UNKNOWN)
_measured = Facts(UNKNOWN)
class StartedSpans:
    """In the place of a tracer, for stock's code to go on with a span that has been started."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def start_span(self, **_arguments: Any) -> Any:
        """The span."""
        return self._span


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
        span = None
        try:
            if (
                start_span is True
                and type(self) is InferenceInvocation
                and not is_inert(switch)
                and (_begun.hold() or BEGUN.holds_again(_begun))
            ):
                given = (tracer, instruments, logger, completion_hook, error_type_resolver, conversation_id)
                own, name, below = _prepare(
                    given, provider, request_model, server_address, server_port, operation_name, context
                )
                if content_capturing_mode is None:
                    content_capturing_mode = _base_globals["get_content_capturing_mode"]()
                emits = _inference_globals["_should_emit_event"](content_capturing_mode)
                start = own["_start_attributes"]
                span = tracer.start_span(name=name, kind=_CLIENT, attributes=start, context=below)
                _open(self, own, span, below, content_capturing_mode, emits, _attach_to_context)
                return
        except Exception as error:
            faults.absorb(_STARTING, error)
        original(
            self,
            tracer if span is None else StartedSpans(span),
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
        if span is not None:
            self._tracer = tracer

    return patching(original, __init__, switch)


def _prepare(
    given: tuple[Any, ...], provider: Any, model: Any, address: Any, port: Any, operation: Any, context: Any
) -> tuple[dict[str, object], str, Any]:
    """The fields of a call, the name of its span and the context to start it in."""
    tracer, instruments, logger, hook, resolver, conversation = given
    operation = operation or _CHAT
    start = {_names.GEN_AI_OPERATION_NAME: operation}
    for (name, _), value in zip(FIRST, (provider, model, address, port)):  # noqa: B905  # without a keyword, in C
        if value is not None:
            start[name] = value
    attributes: dict[str, object] = {}
    metric_attributes: dict[str, object] = {}
    data = InferenceData.__new__(InferenceData)
    data.__dict__ = {
        **EMPTY,
        "provider_name": provider,
        "request_model": model,
        "server_address": address,
        "server_port": port,
        "conversation_id": conversation,
        "operation_name": operation,
        "input_messages": [],
        "output_messages": [],
        "system_instructions": [],
        "attributes": attributes,
        "metric_attributes": metric_attributes,
    }
    if conversation is None:
        conversation = _base_globals["get_ambient_conversation_id"](context)
    if conversation:
        context = _base_globals["with_conversation_id"](conversation, context=context)
    own = {
        "data": data,
        "_context_key": CLIENT_INFERENCE_CONTEXT_KEY,
        "_dataclass_class_object": InferenceData,
        "_tracer": tracer,
        "_instruments": instruments,
        "_logger": logger,
        "_completion_hook": hook,
        "_error_type_resolver": resolver,
        "_operation_name": operation,
        "_content_capturing_mode": None,
        "attributes": attributes,
        "metric_attributes": metric_attributes,
        "conversation_id": conversation,
        "_start_attributes": start,
        "_start_span": True,
        "span": None,
        "_span_context": None,
        "_attach_to_context": True,
        "_context_token": None,
        "_monotonic_start_s": 0.0,
        "_request_stream": None,
        "_ttfc_seconds": None,
        "_stream_last_chunk_at": None,
        "_finished": False,
        "_provider": provider,
        "_request_model": model,
        "_server_address": address,
        "_server_port": port,
        "_emit_event": False,
    }
    return own, f"{operation} {model}" if model else operation, context


def _open(self: Any, own: dict[str, object], span: Any, context: Any, mode: Any, emits: Any, attaches: Any) -> None:
    """Set the fields of a call whose span has started, and make that current as the last step."""
    inner = _base_globals["set_span_in_context"](span, context)
    inner = _base_globals["set_value"](CLIENT_INFERENCE_CONTEXT_KEY, new_data(), context=inner)
    own["_content_capturing_mode"] = mode
    own["_emit_event"] = emits
    own["span"] = span
    own["_span_context"] = inner
    own["_attach_to_context"] = attaches
    own["_monotonic_start_s"] = _timeit.default_timer()
    self.__dict__ = own
    if attaches:
        own["_context_token"] = _base_globals["attach"](inner)


def bind_on_stream_chunk(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `InferenceInvocation._on_stream_chunk`."""
    switch = Switch()

    def _on_stream_chunk(self: Any, chunk_at: float) -> None:
        is_first = None
        try:
            if (
                type(self) is InferenceInvocation
                and type(self.data) is InferenceData
                and not is_inert(switch)
                and (_measured.hold() or MEASURED.holds_again(_measured))
            ):
                own = self.__dict__
                data = self.data.__dict__
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

    return patching(original, _on_stream_chunk, switch)


def bind_merge(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `_ContextData.merge`."""
    switch = Switch()

    def merge(self: Any, other: Any, *, overwrite: bool = True) -> None:
        try:
            if type(self) is InferenceData and type(other) is InferenceData and not is_inert(switch):
                data, given = self.__dict__, other.__dict__
                if len(data) == len(EMPTY) == len(given) and overwrite:
                    _overwrite(data, given, MERGED)
                    _overwrite(data, given, CONTENT)
                    data["attributes"].update(given["attributes"])
                    data["metric_attributes"].update(given["metric_attributes"])
                    return
        except Exception as error:
            faults.absorb(_MERGING, error)
        original(self, other, overwrite=overwrite)

    return patching(original, merge, switch)


def _overwrite(data: dict[str, object], given: dict[str, object], names: tuple[str, ...]) -> None:
    for name in names:
        value = given[name]
        if value is not None:
            data[name] = value
