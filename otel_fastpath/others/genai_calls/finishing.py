"""The end of a call of an LLM: attributes, metrics, event. Plain Python; compiled as `finishing_c`.

Stock makes the attributes from a table of all there are, and twice for an event. The replacement makes them once, from
the dict of the call's record. What stock calls of the API, the SDK and other code's hooks is called in the same order.
"""

from __future__ import annotations

import timeit as _timeit
from typing import TYPE_CHECKING

from opentelemetry.context.context import Context
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace.status import Status, StatusCode
from opentelemetry.util.genai import _inference_invocation as _inference
from opentelemetry.util.genai._inference_invocation import (
    CLIENT_INFERENCE_CONTEXT_KEY,
    InferenceData,
    InferenceInvocation,
)
from opentelemetry.util.genai.completion_hook import _NoOpCompletionHook
from opentelemetry.util.genai.types import ContentCapturingMode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import has_no_fields
from otel_fastpath.others.genai_calls.call_fields import (
    CONTENT,
    LISTS,
    MERGED_ALWAYS,
    TOKENS,
    attributes_of,
    has_dicts,
    metric_attributes,
)
from otel_fastpath.others.genai_calls.contents import add_encoded, contents
from otel_fastpath.others.genai_calls.stock_genai import FINISHED, OddValueError
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.patching.swapping.switches import Switch, make_switchable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PLACE = "the end of a genai call"
_ERROR = StatusCode.ERROR
_ERROR_TYPE = error_attributes.ERROR_TYPE
_TOKEN_TYPE = _names.GEN_AI_TOKEN_TYPE
_EVENT = "gen_ai.client.inference.operation.details"
_SPAN_ONLY = ContentCapturingMode.SPAN_ONLY
_EVENT_ONLY = ContentCapturingMode.EVENT_ONLY
_BOTH = ContentCapturingMode.SPAN_AND_EVENT
# What other code may replace in stock's modules is looked up at each call.
_inference_globals = vars(_inference)
_finished = Facts(UNKNOWN)


class FinishedCall:
    """What the span, the instruments, the hook and the logger get at the end of a call."""

    __slots__ = ("event", "metrics", "own", "span")

    def __init__(self, own: dict[str, Any], span: dict[str, object], metrics: dict[str, object], event: Any) -> None:
        self.own = own
        self.span = span
        self.metrics = metrics
        self.event = event


def bind_apply_finish(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `InferenceInvocation._apply_finish`."""
    switch = Switch()

    def _apply_finish(self: Any, error: Any = None) -> None:
        made = None
        try:
            if (
                type(self) is InferenceInvocation
                and type(self.data) is InferenceData
                and not switch.inert
                and (_finished.hold() or FINISHED.holds_again(_finished))
            ):
                made = _finish(self.__dict__, error)
        except OddValueError:
            pass
        except Exception as fault:
            faults.absorb(_PLACE, fault)
        if made is None:
            original(self, error)
            return
        try:
            _tell(self, made, error)
        except Exception as fault:
            faults.absorb(_PLACE, fault)

    return make_switchable(original, _apply_finish, switch)


def _finish(own: dict[str, Any], error: Any) -> FinishedCall | None:
    """Complete the call's record, and make the attributes of its span, metrics and event.

    None, or an error, if stock must do it: it may do again all that was done here.
    """
    data: dict[str, Any] = own["data"].__dict__
    context = own["_span_context"]
    if type(context) is not Context or not has_dicts(own):
        return None
    attributes: dict[str, Any] = own["attributes"]
    if error is not None:
        attributes[_ERROR_TYPE] = own["metric_attributes"][_ERROR_TYPE] = error.type
    inner = context.get(CLIENT_INFERENCE_CONTEXT_KEY)
    if type(inner) is InferenceData:
        _enrich(data, inner.__dict__)
    elif inner is not None:
        return None
    for name in LISTS:
        kind = type(messages := data.get(name))
        if kind is not list:
            if messages is not None and kind is not tuple:
                # It might be read once only.
                return None
            data[name] = list(messages or ())
    if data.get("prompt_variable"):
        return None
    data["attributes"] = attributes
    data["metric_attributes"] = own["metric_attributes"]
    if own["_request_stream"] is not None:
        data["request_stream"] = own["_request_stream"]
    known = attributes_of(own, data)
    start: dict[str, object] = own["_start_attributes"]
    mode = own["_content_capturing_mode"]
    is_on_span = mode is _SPAN_ONLY or mode is _BOTH
    is_in_event = own["_emit_event"] and (mode is _EVENT_ONLY or mode is _BOTH)
    content: dict[str, list[object]] = contents(data) if is_on_span or is_in_event else {}
    event = None
    if own["_emit_event"]:
        event = {**start, **known}
        if is_in_event:
            event.update(content)
        event.update(attributes)
    if is_on_span:
        add_encoded(known, content)
    if attributes:
        known.update(attributes)
    for name in start:
        if name in known:
            del known[name]
    return FinishedCall(own, known, metric_attributes(own, data), event)


def _enrich(data: dict[str, Any], inner: dict[str, Any]) -> None:
    """Add what calls inside of this one have published, as `enrich_from_context` of stock does."""
    for field, value in inner.items():
        if value is not None and field in MERGED_ALWAYS and data.get(field) is None:
            data[field] = value
    for name in ("attributes", "metric_attributes"):
        for key, value in inner[name].items():
            data[name].setdefault(key, value)
    if inner.get("capture_content"):
        for field in CONTENT:
            if not data.get(field):
                data[field] = inner.get(field)


def _tell(self: Any, made: FinishedCall, error: Any) -> None:
    """Pass the outcome on to the span, the instruments, the hook and the logger."""
    own = made.own
    data: dict[str, Any] = own["data"].__dict__
    span, context, instruments = own["span"], own["_span_context"], own["_instruments"]
    if error is not None:
        span.set_status(Status(_ERROR, error.message))
    span.set_attributes(made.span)
    duration = max(_timeit.default_timer() - own["_monotonic_start_s"], 0.0)
    instruments.operation_duration.record(duration, attributes=made.metrics, context=context)
    for kind, field in TOKENS:
        count = data.get(field)
        if count is not None:
            instruments.token_usage.record(count, attributes={**made.metrics, _TOKEN_TYPE: kind}, context=context)
    record = None
    if made.event is not None:
        record = _inference_globals["LogRecord"](event_name=_EVENT, attributes=made.event, context=context)
    hook = own["_completion_hook"]
    if type(hook) is not _NoOpCompletionHook or not has_no_fields(hook):
        self._call_completion_hook(
            inputs=data["input_messages"],
            outputs=data["output_messages"],
            system_instruction=data["system_instructions"],
            tool_definitions=data.get("tool_definitions"),
            log_record=record,
        )
    if record is not None:
        own["_logger"].emit(record)
