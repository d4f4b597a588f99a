"""Whether the global propagator uses nothing but W3C's headers. Plain Python; compiled as `global_propagator_c`."""

from __future__ import annotations

from typing import Any

from opentelemetry import propagate
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import NonRecordingSpan
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import has_no_fields
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching.stock import is_unreplaced, unreplaced
from otel_fastpath.trace.propagation.stock_propagators import EXTRACTING_BOTH, INJECTING_BOTH

# With baggage first, the context that is read is the current one instead of an empty one.
_USUAL = (
    [TraceContextTextMapPropagator],
    [TraceContextTextMapPropagator, W3CBaggagePropagator],
)


class FoundPropagator:
    """What the global propagator is, and what that rests on.

    Attributes:
        trace_context: The propagator of the headers `traceparent` and `tracestate`, or None if the global propagator is
            not one of the usual ones: trace context, then perhaps baggage.
        facts: The facts that this follows from.
        parts: The list of propagators, or None.
        baggage: The second of them, or None.
    """

    __slots__ = ("baggage", "facts", "parts", "trace_context")

    def __init__(self, facts: Facts, parts: Any) -> None:
        self.facts = facts
        self.parts = parts
        self.trace_context: TraceContextTextMapPropagator | None = None if parts is None else parts[0]
        self.baggage = parts[1] if parts is not None and len(parts) > 1 else None

    def is_unchanged(self) -> bool:
        """Whether the list still has these propagators, and none has got a method of its own."""
        parts = self.parts
        if parts is None:
            return True
        second = self.baggage
        if second is None:
            return len(parts) == 1 and parts[0] is self.trace_context and has_no_fields(parts[0])
        return (
            len(parts) == 2  # noqa: PLR2004  # the two of `_USUAL`
            and parts[0] is self.trace_context
            and parts[1] is second
            and has_no_fields(parts[0])
            and has_no_fields(second)
        )


class W3C:
    """Whether a method of the global propagator uses nothing but W3C's headers.

    Args:
        method: `extract`, which reads the headers of a request, or `inject`, which writes them.
    """

    __slots__ = ("_found", "_method")

    def __init__(self, method: str) -> None:
        self._method = method
        self._found: FoundPropagator | None = None

    def propagator(self) -> TraceContextTextMapPropagator | None:
        """The current `FoundPropagator.trace_context`."""
        found = _kept(self)
        if found is None or not found.facts.hold() or not found.is_unchanged():
            found = self._look_again()
        return found.trace_context

    def _look_again(self) -> FoundPropagator:
        used = propagate._HTTP_TEXT_FORMAT
        method = self._method
        items: list[tuple[object, str, object]] = [
            (propagate, "_HTTP_TEXT_FORMAT", used),
            (propagate, "get_global_textmap", propagate.get_global_textmap),
            (propagate, method, getattr(propagate, method)),
            (CompositePropagator, method, getattr(CompositePropagator, method)),
            (TraceContextTextMapPropagator, method, getattr(TraceContextTextMapPropagator, method)),
            (W3CBaggagePropagator, method, getattr(W3CBaggagePropagator, method)),
            unreplaced(NonRecordingSpan, "get_span_context"),
        ]
        parts = getattr(used, "_propagators", None)
        # Where no header is there, or no span, these would be called all the same.
        called, are_own = (EXTRACTING_BOTH if method == "extract" else INJECTING_BOTH).lasting()
        items += called
        if are_own and type(used) is CompositePropagator and _are_usual(parts, method):
            items.append((used, "_propagators", parts))
        else:
            parts = None
        found = FoundPropagator(Facts(items), parts)
        _keep(self, found)
        return found


@critical_section
def _kept(w3c: W3C) -> FoundPropagator | None:
    return w3c._found


@critical_section
def _keep(w3c: W3C, found: FoundPropagator) -> None:
    w3c._found = found


def _are_usual(parts: Any, method: str) -> bool:
    return (
        isinstance(parts, (list, tuple))
        and [type(part) for part in parts] in _USUAL
        and not any(vars(part) for part in parts)
        and is_unreplaced(propagate, "get_global_textmap")
        and is_unreplaced(propagate, method)
        and all(
            is_unreplaced(kind, method)
            for kind in (CompositePropagator, TraceContextTextMapPropagator, W3CBaggagePropagator)
        )
    )


_reading = W3C("extract")
_writing = W3C("inject")


def w3c_reader() -> TraceContextTextMapPropagator | None:
    """The propagator of trace context, if nothing but it and perhaps baggage's reads headers."""
    return _reading.propagator()


def w3c_writer() -> TraceContextTextMapPropagator | None:
    """The propagator of trace context, if nothing but it and perhaps baggage's writes headers."""
    return _writing.propagator()
