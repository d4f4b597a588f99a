"""W3C Trace Context headers (https://www.w3.org/TR/trace-context/). Plain Python; compiled as `trace_context_c`.

Only the usual header is read here: version 00, lower case, no trace state. Any other header, and any unusual carrier or
span, is left to stock's propagator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context.context import Context
from opentelemetry.propagators.textmap import default_getter, default_setter
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator as _Propagator
from opentelemetry.trace.span import (
    DEFAULT_TRACE_STATE,
    INVALID_SPAN_CONTEXT,
    NonRecordingSpan,
    Span,
    SpanContext,
    TraceFlags,
)

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item, item, new_instance, new_tuple, value_of, with_value
from otel_fastpath.compiled.traceparent import read_traceparent, write_traceparent
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.context_functions import known_context
from otel_fastpath.trace.propagation.known_headers import with_known_headers
from otel_fastpath.trace.propagation.stock_propagators import EXTRACTING, INJECTING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

    from opentelemetry.propagators.textmap import Getter, Setter


_FLAGS = tuple(TraceFlags(bits) for bits in range(256))
_LENGTH: Final = 55
_EXTRACT = "TraceContextTextMapPropagator.extract"
_INJECT = "TraceContextTextMapPropagator.inject"
_FORMAT = _Propagator._TRACEPARENT_HEADER_FORMAT_RE
# Types that are known to be spans: `isinstance` with an abstract base class takes longer than everything else here.
_span_types: set[type] = set()
# Limits the memory used if an application makes a class for every span.
_MOST_TYPES = 64
# What is not called: other code may replace it.
_extracting = Facts(UNKNOWN)
_injecting = Facts(UNKNOWN)


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:
    """Make the method that returns a context with the remote parent read from a carrier."""

    def extract(
        self: Any, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        parents = states = span = None
        try:
            # A subclass may read it differently. The names are the object's own.
            if (
                type(self) is _Propagator
                and getter is not None
                and self._TRACEPARENT_HEADER_FORMAT_RE is _FORMAT
                and (_extracting.hold() or EXTRACTING.holds_again(_extracting))
            ):
                if getter is default_getter and type(carrier) is dict:
                    header = get_item(carrier, self._TRACEPARENT_HEADER_NAME)
                    if header is None:
                        return Context() if context is None else context
                    if self._TRACESTATE_HEADER_NAME not in carrier:
                        span = remote_span(header)
                else:
                    parents = getter.get(carrier, self._TRACEPARENT_HEADER_NAME)
                    if not parents:
                        return Context() if context is None else context
                    span = remote_span(parents[0]) if type(parents) is list else None
                    if span is not None:
                        states = getter.get(carrier, self._TRACESTATE_HEADER_NAME)
                if span is not None and states is None and (context is None or type(context) is Context):
                    return with_value(Context, context, _SPAN_KEY, span)
        except Exception as error:
            faults.absorb(_EXTRACT, error)
        if parents is not None:
            known = {self._TRACEPARENT_HEADER_NAME: parents, self._TRACESTATE_HEADER_NAME: states}
            getter = with_known_headers(_EXTRACT, getter, known)
        return original(self, carrier, context, getter)

    return extract


def make_inject(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes the header of the current span."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        header = _written(context) if type(self) is _Propagator else None
        if header is None:
            original(self, carrier, context, setter)
        elif header:
            # As `put`; in plain Python, each call counts.
            if setter is default_setter and type(carrier) is dict:
                carrier[self._TRACEPARENT_HEADER_NAME] = header
            else:
                setter.set(carrier, self._TRACEPARENT_HEADER_NAME, header)

    return inject


def _written(context: Context | None) -> str | None:
    """What is written of a context, perhaps nothing; None: stock's propagator decides."""
    try:
        if _injecting.hold() or INJECTING.holds_again(_injecting):
            where = known_context(None) if context is None else context
            if type(where) is Context:
                span = value_of(where, _SPAN_KEY)
                return "" if span is None else traceparent(span)
    except Exception as error:
        faults.absorb(_INJECT, error)
    return None


def traceparent(span: object) -> str | None:
    """The header `traceparent` of a span; None if stock's propagator has to decide what it writes."""
    # As `valid_context`; in plain Python, each call counts.
    if type(span) is NonRecordingSpan:
        own: Any = span._context
    elif type(span) in _span_types or _is_span(span):
        own = span.get_span_context()  # type: ignore[attr-defined]  # a span
    else:
        return None
    if type(own) is SpanContext and item(own, 5) and item(own, 4) is DEFAULT_TRACE_STATE:
        return write_traceparent(item(own, 0), item(own, 1), item(own, 3))  # type: ignore[arg-type]  # as SpanContext has them
    return None


def valid_context(span: object) -> SpanContext | None:
    """The span's own SpanContext; None if that is not valid, it is something else, or this is no span.

    The caller knows that `NonRecordingSpan.get_span_context` is stock's own.
    """
    if type(span) is NonRecordingSpan or type(span) in _span_types or _is_span(span):
        context = span._context if type(span) is NonRecordingSpan else span.get_span_context()  # type: ignore[attr-defined]  # a span
        if type(context) is SpanContext and item(context, 5):
            return context
    return None


def context_to_write(context: Context | None) -> SpanContext | None:
    """The valid SpanContext of the span in a context (None: the current one).

    Returns:
        An invalid one: there is no span. None: stock decides. The caller knows that `get_current_span` is stock's own.
    """
    where = known_context(None) if context is None else context
    if type(where) is not Context:
        return None
    span = value_of(where, _SPAN_KEY)
    return INVALID_SPAN_CONTEXT if span is None else valid_context(span)


def with_remote(context: Context | None, trace_id: int, span_id: int, flags: int) -> Context:
    """The context (None: an empty one) with the remote parent of these numbers; see `span_of`."""
    return with_value(Context, context, _SPAN_KEY, span_of(trace_id, span_id, flags))


def remote_span(header: object) -> NonRecordingSpan | None:
    """The remote parent of a header `traceparent`; None: it is unusual, or this is no text."""
    if type(header) is not str or len(header) != _LENGTH:
        return None
    read = read_traceparent(header)
    return None if read is None else span_of(read[0], read[1], read[2])


def span_of(trace_id: int, span_id: int, flags: int) -> NonRecordingSpan:
    """The remote parent with these numbers, which are valid, and without a trace state."""
    span = new_instance(NonRecordingSpan)
    span._context = new_tuple(SpanContext, (trace_id, span_id, True, _FLAGS[flags], DEFAULT_TRACE_STATE, True))
    return span


def _is_span(value: object) -> TypeGuard[Span]:
    if not isinstance(value, Span):
        return False
    if len(_span_types) < _MOST_TYPES:
        _span_types.add(type(value))
    return True
