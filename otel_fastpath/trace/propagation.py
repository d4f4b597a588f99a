"""W3C Trace Context headers (https://www.w3.org/TR/trace-context/). Plain Python; compiled as `propagation_c`.

Only the header that everybody sends is read here: version 00, lower case, no trace state. For any other, and for a
carrier or span that is not of the common kind, upstream's propagator does the work.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.propagators.textmap import default_getter, default_setter
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator as _Propagator
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, NonRecordingSpan, Span, SpanContext, TraceFlags

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from otel_fastpath.compiled.capi import *
    from otel_fastpath.compiled.traceparent import *

globals().setdefault("COMPILED", False)
_context_globals = vars(_context_api)
_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None  # type: ignore[attr-defined]
_fromhex = bytes.fromhex
# A version, a trace id in two halves, a span id, the flags.
_unpack = struct.Struct(">BQQQB").unpack
_set_default = dict.setdefault
_FLAGS = tuple(TraceFlags(bits) for bits in range(256))
_ENDS = tuple(f"-{bits:02x}" for bits in range(256))
# From here on `SpanState.trace_flags` says that the header is not made of what the span keeps.
_OTHER_FLAGS: Final = 4
# The classes of spans whose ids can be read as `SpanState` keeps them.
OWN_SPANS: set[type] = set()
_LENGTH: Final = 55
# Types that are known to be spans: asking an abstract base class takes longer than all the rest.
_span_types: set[type] = set()
# Who makes a class for every span must not fill the memory.
_MOST_TYPES = 64
_new = object.__new__
_tuple_new = tuple.__new__


class _Answers:
    """What a getter has answered, for upstream's propagator: a getter is asked once for each header, in its order."""

    __slots__ = ("_getter", "_known")

    def __init__(self, getter: Any, parents: Any, states: Any) -> None:
        self._getter = getter
        self._known = {"traceparent": parents, "tracestate": states}

    def get(self, carrier: Any, key: Any) -> Any:
        """The answer that is known, else the getter's."""
        known = self._known.get(key)
        return self._getter.get(carrier, key) if known is None else known


def _answering(getter: Any, parents: Any, states: Any) -> Any:
    """A getter that knows these answers; where it cannot be made, the getter is asked again. Never raises."""
    try:
        return _Answers(getter, parents, states)
    except Exception as error:
        faults.report("TraceContextTextMapPropagator.extract", error)
        return getter


def _parent(header: str) -> Any:
    """The remote parent that a header of this length names; None where upstream must read it."""
    if COMPILED:
        return c_remote_parent(SpanContext, header, _FLAGS, DEFAULT_TRACE_STATE)
    if not header[2] == header[35] == header[52] == "-" or header.lower() != header:
        return None
    try:
        # It takes blanks between two octets. With 26 octets there is no other blank in so short a text.
        version, high, low, span_id, bits = _unpack(_fromhex(header.replace("-", " ")))
    except (ValueError, struct.error):
        return None
    if not span_id or version or not (high or low):
        return None
    return _tuple_new(SpanContext, (high << 64 | low, span_id, True, _FLAGS[bits], DEFAULT_TRACE_STATE, True))


def _with_span(context: Any, span: Any) -> Any:
    """The context (None: an empty one) with this span as the current one."""
    if COMPILED:
        return c_context_with(Context, context, _SPAN_KEY, span)
    if context:
        return Context({**context, _SPAN_KEY: span})
    made = Context()
    _set_default(made, _SPAN_KEY, span)
    return made


def make_extract(original: Any) -> Any:
    """The method that gives a context with the remote parent that a carrier names."""

    def extract(self: Any, carrier: Any, context: Any = None, getter: Any = default_getter) -> Any:
        parents = states = None
        try:
            if type(self) is not _Propagator:
                # It may have other names for the headers.
                header = None
            elif getter is default_getter and type(carrier) is dict:
                header = carrier.get("traceparent")
                if header is None:
                    return Context() if context is None else context
                if "tracestate" in carrier:
                    header = None
            else:
                parents = getter.get(carrier, "traceparent")
                if not parents:
                    return Context() if context is None else context
                header = parents[0] if type(parents) is list else None
            if type(header) is str and len(header) == _LENGTH and (context is None or type(context) is Context):
                parent = _parent(header)
                if parent is not None and parents is not None:
                    states = getter.get(carrier, "tracestate")
                if parent is not None and states is None:
                    span = c_new_instance(NonRecordingSpan) if COMPILED else _new(NonRecordingSpan)
                    span._context = parent
                    return _with_span(context, span)
        except Exception as error:
            faults.absorb("TraceContextTextMapPropagator.extract", error)
        if parents is not None:
            getter = _answering(getter, parents, states)
        return original(self, carrier, context, getter)

    return extract


def make_inject(original: Any) -> Any:
    """The method that writes the header of the current span."""

    def inject(self: Any, carrier: Any, context: Any = None, setter: Any = default_setter) -> None:
        try:
            span: Any = None
            header = None
            if type(context) is Context:
                span = c_value(context, _SPAN_KEY) if COMPILED else context.get(_SPAN_KEY)
            elif context is None and _context_globals["_RUNTIME_CONTEXT"] is _runtime:
                span = c_current(_variable, _SPAN_KEY) if COMPILED else _variable.get().get(_SPAN_KEY)
            if type(self) is not _Propagator:
                pass
            elif not COMPILED and type(span) in OWN_SPANS:
                flags = span.trace_flags
                if flags < _OTHER_FLAGS and span.trace_state is DEFAULT_TRACE_STATE:
                    own = span.made_context
                    if own is None:
                        own = span.get_span_context()
                    header = f"00-{own[0].to_bytes(16, 'big').hex()}-{own[1].to_bytes(8, 'big').hex()}{_ENDS[flags]}"
            elif type(span) in _span_types or _is_span(span):
                own = span.get_span_context()
                if type(own) is not SpanContext:
                    pass
                elif COMPILED:
                    header = c_traceparent(own, DEFAULT_TRACE_STATE)
                elif own[5] and own[4] is DEFAULT_TRACE_STATE and 0 <= own[3] < len(_ENDS):
                    header = f"00-{own[0].to_bytes(16, 'big').hex()}-{own[1].to_bytes(8, 'big').hex()}{_ENDS[own[3]]}"
            if header is not None:
                if setter is default_setter and type(carrier) is dict:
                    carrier["traceparent"] = header
                else:
                    setter.set(carrier, "traceparent", header)
                return
        except Exception as error:
            faults.absorb("TraceContextTextMapPropagator.inject", error)
        original(self, carrier, context, setter)

    return inject


def _is_span(value: Any) -> bool:
    if not isinstance(value, Span):
        return False
    if len(_span_types) < _MOST_TYPES:
        _span_types.add(type(value))
    return True
