"""W3C Trace Context headers (https://www.w3.org/TR/trace-context/). Plain Python; compiled as `_propagation_c`.

Only the header that everybody sends is read here: version 00, lower case, no trace state. For any other, and for a
carrier or span that is not of the common kind, the functions say so and upstream's propagator does the work.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.propagators.textmap import default_getter, default_setter
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, NonRecordingSpan, Span, SpanContext, TraceFlags

if TYPE_CHECKING:
    from otel_fastpath.core._capi import *

globals().setdefault("COMPILED", False)
_context_globals = vars(_context_api)
_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None  # type: ignore[attr-defined]
_match = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})").fullmatch
_FLAGS = tuple(TraceFlags(bits) for bits in range(256))
# Types that are known to be spans: asking an abstract base class takes longer than all the rest.
_span_types: set[type] = set()
_new = object.__new__
_tuple_new = tuple.__new__


def extract(carrier: Any, context: Any, getter: Any) -> Any:
    """The context with the remote parent that the carrier names, or None: upstream must look."""
    if getter is default_getter and type(carrier) is dict:
        header = carrier.get("traceparent")
        state = carrier.get("tracestate")
    else:
        headers = getter.get(carrier, "traceparent")
        if type(headers) is not list or not headers:
            return None
        header = headers[0]
        state = getter.get(carrier, "tracestate")
    if state is not None or type(header) is not str or (context is not None and type(context) is not Context):
        return None
    if COMPILED:
        parsed = c_parsed(header)
        if parsed is None:
            return None
        trace_id, span_id, bits = parsed
    else:
        match = _match(header)
        if match is None:
            return None
        trace_text, span_text, bits_text = match.groups()
        trace_id, span_id, bits = int(trace_text, 16), int(span_text, 16), int(bits_text, 16)
    if not trace_id or not span_id:
        return None
    flags = _FLAGS[bits]
    if COMPILED:
        span = c_new_instance(NonRecordingSpan)
        span._context = c_remote_span_context(SpanContext, trace_id, span_id, flags, DEFAULT_TRACE_STATE)
        return c_context_with(Context, context, _SPAN_KEY, span)
    span = _new(NonRecordingSpan)
    span._context = _tuple_new(SpanContext, (trace_id, span_id, True, flags, DEFAULT_TRACE_STATE, True))
    return Context({**context, _SPAN_KEY: span} if context else {_SPAN_KEY: span})


def inject(carrier: Any, context: Any, setter: Any) -> Any:
    """Write the header of the current span, or return False: upstream must look."""
    if context is None and _context_globals["_RUNTIME_CONTEXT"] is _runtime:
        span = c_current(_variable, _SPAN_KEY) if COMPILED else _variable.get().get(_SPAN_KEY)
    elif type(context) is Context:
        span = context.get(_SPAN_KEY)
    else:
        return False
    if type(span) not in _span_types:
        if not isinstance(span, Span):
            return False
        _span_types.add(type(span))
    span_context = span.get_span_context()
    if type(span_context) is not SpanContext:
        return False
    trace_id, span_id, _, flags, state, valid = span_context
    if not valid or state is not DEFAULT_TRACE_STATE:
        return False
    header = c_formatted(trace_id, span_id, flags) if COMPILED else f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}"
    if setter is default_setter and type(carrier) is dict:
        carrier["traceparent"] = header
    else:
        setter.set(carrier, "traceparent", header)
    return True
