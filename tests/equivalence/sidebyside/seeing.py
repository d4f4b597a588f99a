"""Values as they are compared: types by name, the order of mappings kept, NaN equal to NaN."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, _Span
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status, TraceState
from opentelemetry.trace import Span as ApiSpan

if TYPE_CHECKING:
    import logging

# Who a processor may take a span for. Whether it is exactly a ReadableSpan is ours to choose: see docs/differences.md.
_SPAN_TYPES = (ApiSpan, SdkSpan, _Span, ReadableSpan)

PUBLIC = (
    "name",
    "context",
    "kind",
    "parent",
    "start_time",
    "end_time",
    "status",
    "attributes",
    "events",
    "links",
    "resource",
    "instrumentation_scope",
    "dropped_attributes",
    "dropped_events",
    "dropped_links",
)
PRIVATE = ("_attributes", "_events", "_links", "_name", "_status", "_start_time", "_end_time", "_context", "_parent")


def seen(value: Any) -> Any:
    """The value in a form that two runs share if nobody can tell the values apart."""
    reader = _READERS.get(type(value))
    if reader is not None:
        return reader(value)
    for kind, read in _FAMILIES:
        if isinstance(value, kind):
            return read(value)
    return type(value).__name__, repr(value)


def span_name(span: Any) -> Any:
    """A span as one that is known already: by its ids."""
    context = span.get_span_context()
    ids = (context.trace_id, context.span_id) if isinstance(context, SpanContext) else repr(context)
    return "span", "recording" if isinstance(span, ReadableSpan) else type(span).__name__, ids


def span_fields(span: Any, *, private: bool = False) -> Any:
    """Every field of a span that has a public name; those that everybody uses all the same."""
    names = (*PUBLIC, *PRIVATE) if private else PUBLIC
    return tuple((name, outcome(lambda name=name: getattr(span, name))) for name in names)


def exported_span(span: Any) -> Any:
    """A span as its exporter can read it."""
    return (
        isinstance(span, ReadableSpan),
        span_fields(span),
        span_fields(span, private=True),
        ("to_json", outcome(span.to_json)),
        ("to_json flat", outcome(lambda: span.to_json(indent=None))),
    )


def outcome(call: Any) -> Any:
    """What a call returns or raises."""
    try:
        return "returned", seen(call())
    except BaseException as error:  # any exception is a result to compare
        return "raised", seen_error(error)


def seen_error(error: BaseException | None, known: tuple[Any, ...] = ()) -> Any:
    """An exception by type and text, with those it is chained to."""
    if error is None or error in known:
        return None
    try:
        text = str(error)
    except Exception:  # whatever its __str__ does
        text = "<no text>"
    if (isinstance(error, TypeError) and "argument" in text) or (isinstance(error, AttributeError) and "'str'" in text):
        # A wrong call: who complains (a method, a compiled one, or what they call) words it.
        text = "<wrong arguments>"
    known = (*known, error)
    context = None if error.__suppress_context__ else error.__context__
    return type(error).__name__, text, seen_error(error.__cause__, known), seen_error(context, known)


def seen_record(record: logging.LogRecord) -> Any:
    """A log record: its logger, level and message, and the exception it carries."""
    error = record.exc_info[1] if record.exc_info else None
    return record.name, record.levelname, record.getMessage(), seen_error(error)


def stack_text(error: BaseException) -> str:
    """The text that stock records for an exception."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _items(value: Any) -> Any:
    return tuple((seen(key), seen(item)) for key, item in value.items())


def _context(value: Any) -> Any:
    return "context", tuple(
        (key, span_name(item) if isinstance(item, ApiSpan) else seen(item)) for key, item in value.items()
    )


def _bounded(value: Any) -> Any:
    return (
        "bounded attributes",
        value.maxlen,
        value.max_value_len,
        value.dropped,
        value._immutable,
        _items(value),
        repr(value),
    )


def _bounded_list(value: Any) -> Any:
    return "bounded list", value._dq.maxlen, value.dropped, tuple(seen(item) for item in value)


def _event(value: Any) -> Any:
    return "event", value.name, value.timestamp, seen(value.attributes), value.dropped_attributes


def _link(value: Any) -> Any:
    return "link", seen(value.context), seen(value.attributes), value.dropped_attributes


def _span_context(value: Any) -> Any:
    return (
        "span context",
        value.trace_id,
        value.span_id,
        value.is_remote,
        (type(value.trace_flags).__name__, int(value.trace_flags)),
        tuple(value.trace_state.items()) if isinstance(value.trace_state, TraceState) else repr(value.trace_state),
        value.is_valid,
        repr(value),
    )


def _scope(value: Any) -> Any:
    return "scope", value.name, value.version, value.schema_url, seen(value.attributes)


def _sequence(value: Any) -> Any:
    return type(value).__name__, tuple(seen(item) for item in value)


_READERS: dict[type, Any] = {
    type(None): lambda _: None,
    str: lambda value: value,
    tuple: _sequence,
    list: _sequence,
    dict: lambda value: ("dict", _items(value)),
    MappingProxyType: lambda value: ("read-only", _items(value), repr(value)),
    BoundedAttributes: _bounded,
    BoundedList: _bounded_list,
    Context: _context,
}
_FAMILIES: tuple[tuple[type, Any], ...] = (
    (ApiSpan, lambda span: (span_name(span), tuple(isinstance(span, kind) for kind in _SPAN_TYPES))),
    (ReadableSpan, span_name),
    (SpanContext, _span_context),
    (Event, _event),
    (Link, _link),
    (Status, lambda value: ("status", value.status_code.name, value.description)),
    (Resource, lambda value: ("resource", _items(value.attributes), value.schema_url)),
    (InstrumentationScope, _scope),
    (BaseException, seen_error),
    (Mapping, lambda value: (type(value).__name__, _items(value))),
)
