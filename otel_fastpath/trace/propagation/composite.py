"""Several propagators in one: each is called as stock calls it. Plain Python; compiled as `composite_c`.

Of the usual two, trace context and then baggage, the headers of a span are read and written here, and the second is not
called where there is no baggage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context.context import Context
from opentelemetry.propagators.textmap import default_getter, default_setter
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import has_no_fields, value_of, with_value
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.context_functions import known_context
from otel_fastpath.trace.propagation.stock_propagators import EXTRACTING_BOTH, INJECTING_BOTH
from otel_fastpath.trace.propagation.trace_context import remote_span, traceparent

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.propagators.textmap import Getter, Setter

_EXTRACT = "CompositePropagator.extract"
_INJECT = "CompositePropagator.inject"
_PARENT = "traceparent"
_STATE = "tracestate"
_BAGGAGE = "baggage"
# What is not called: other code may replace it.
_extracting = Facts(UNKNOWN)
_injecting = Facts(UNKNOWN)


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:  # noqa: ARG001  # as those beside it
    """Make the method that lets each propagator read a carrier."""

    def extract(
        self: Any, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context | None:
        parts_of_host = self._propagators
        found = None
        try:
            if getter is default_getter and type(carrier) is dict and are_usual(parts_of_host):
                found = _read(carrier, context)
        except Exception as error:
            faults.absorb(_EXTRACT, error)
        if found is not None:
            return parts_of_host[1].extract(carrier, found, getter=getter) if _BAGGAGE in carrier else found
        for propagator in parts_of_host:
            context = propagator.extract(carrier, context, getter=getter)
        return context

    return extract  # type: ignore[return-value]  # None if there is no propagator, as stock


def make_inject(original: Callable[..., None]) -> Callable[..., None]:  # noqa: ARG001  # as those beside it
    """Make the method that lets each propagator write to a carrier."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        parts_of_host = self._propagators
        header, has_baggage = None, False
        try:
            if setter is default_setter and type(carrier) is dict and are_usual(parts_of_host):
                where = known_context(None) if context is None else context
                header = _written(where)
                has_baggage = header is not None and where.get(_BAGGAGE_KEY) is not None  # type: ignore[union-attr]  # see `_written`
        except Exception as error:
            faults.absorb(_INJECT, error)
            header = None
        if header is None:
            for propagator in parts_of_host:
                propagator.inject(carrier, context, setter=setter)
            return
        if header:
            carrier[_PARENT] = header
        if has_baggage:
            parts_of_host[1].inject(carrier, context, setter=setter)

    return inject


def are_usual(parts: Any) -> bool:
    """Whether these propagators are the usual two, with the usual names of headers."""
    if type(parts) is not list or len(parts) != 2:  # noqa: PLR2004  # see above
        return False
    first = parts[0]
    second = parts[1]
    return (
        type(first) is TraceContextTextMapPropagator
        and type(second) is W3CBaggagePropagator
        and has_no_fields(first)
        and has_no_fields(second)
    )


def _read(carrier: dict[Any, Any], context: Context | None) -> Context | None:
    """The context with the span of these headers; None: each propagator reads them itself."""
    if _extracting.hold() or EXTRACTING_BOTH.holds_again(_extracting):
        header = carrier.get(_PARENT)
        if header is None:
            return Context() if context is None else context
        if _STATE not in carrier and (context is None or type(context) is Context):
            span = remote_span(header)
            if span is not None:
                return with_value(Context, context, _SPAN_KEY, span)
    return None


def _written(context: Any) -> str | None:
    """What is written of a context's span, perhaps nothing; None: each propagator decides that itself."""
    if type(context) is Context and (_injecting.hold() or INJECTING_BOTH.holds_again(_injecting)):
        span = value_of(context, _SPAN_KEY)
        return "" if span is None else traceparent(span)
    return None
