"""W3C Trace Context headers (https://www.w3.org/TR/trace-context/). Plain Python; compiled as `propagation_c`.

Only the usual header is read here: version 00, lower case, no trace state. Any other header, and any unusual carrier or
span, is left to stock's propagator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context.context import Context
from opentelemetry.propagators.textmap import default_getter, default_setter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator as _Propagator
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, NonRecordingSpan, Span, SpanContext, TraceFlags

from otel_fastpath.compiled.helpers import item, new_instance, new_tuple
from otel_fastpath.compiled.traceparent import read_traceparent, write_traceparent
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import span_in, with_span

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

    from opentelemetry.propagators.textmap import Getter, Setter


_FLAGS = tuple(TraceFlags(bits) for bits in range(256))
_LENGTH: Final = 55
# Types that are known to be spans: `isinstance` with an abstract base class takes longer than everything else here.
_span_types: set[type] = set()
# Limits the memory used if an application makes a class for every span.
_MOST_TYPES = 64


class _Answers:
    """Gives stock's propagator the values already read, so that each header is read once, in stock's order."""

    __slots__ = ("_getter", "_known")

    def __init__(self, getter: Getter[Any], parents: list[str] | None, states: list[str] | None) -> None:
        self._getter = getter
        self._known = {"traceparent": parents, "tracestate": states}

    def get(self, carrier: object, key: str) -> list[str] | None:
        """The known value, or the one that the getter returns."""
        known = self._known.get(key)
        return self._getter.get(carrier, key) if known is None else known


def _answering(getter: Getter[Any], parents: list[str] | None, states: list[str] | None) -> Getter[Any]:
    """A getter that returns these known values; the given getter if that cannot be made. Never raises."""
    try:
        return _Answers(getter, parents, states)  # type: ignore[return-value]  # stock calls only this method of it
    except Exception as error:
        faults.absorb_any("TraceContextTextMapPropagator.extract", error)
        return getter


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:
    """Make the method that returns a context with the remote parent read from a carrier."""

    def extract(
        self: object, carrier: object, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        parents = states = None
        try:
            if type(self) is not _Propagator:
                # A subclass may use other header names.
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
                read = read_traceparent(header)
                if read is not None and parents is not None:
                    states = getter.get(carrier, "tracestate")
                if read is not None and states is None:
                    trace_id, span_id, flags = read
                    span = new_instance(NonRecordingSpan)
                    span._context = new_tuple(
                        SpanContext, (trace_id, span_id, True, _FLAGS[flags], DEFAULT_TRACE_STATE, True)
                    )
                    return with_span(context, span)
        except Exception as error:
            faults.absorb("TraceContextTextMapPropagator.extract", error)
        if parents is not None:
            getter = _answering(getter, parents, states)
        return original(self, carrier, context, getter)

    return extract


def make_inject(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes the header of the current span."""

    def inject(
        self: object, carrier: object, context: Context | None = None, setter: Setter[Any] = default_setter
    ) -> None:
        try:
            header = traceparent(span_in(context)) if type(self) is _Propagator else None
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


def traceparent(span: object) -> str | None:
    """The header `traceparent` of a span; None if stock's propagator has to decide what it writes."""
    own = _span_context(span) if type(span) in _span_types or _is_span(span) else None  # type: ignore[arg-type]  # a span
    if own is not None and item(own, 5) and item(own, 4) is DEFAULT_TRACE_STATE:
        return write_traceparent(item(own, 0), item(own, 1), item(own, 3))  # type: ignore[arg-type]  # as SpanContext has them
    return None


def _span_context(span: Span) -> SpanContext | None:
    """The span's own SpanContext, or None if it returns something else."""
    context = span.get_span_context()
    return context if type(context) is SpanContext else None


def _is_span(value: object) -> TypeGuard[Span]:
    if not isinstance(value, Span):
        return False
    if len(_span_types) < _MOST_TYPES:
        _span_types.add(type(value))
    return True
