"""What a span is known by: its ids and flags, as a `SpanContext` once somebody asks. Compiled as `identity_c`."""

from __future__ import annotations

from random import getrandbits
from typing import TYPE_CHECKING

from opentelemetry.trace.span import SpanContext, TraceFlags

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from opentelemetry.trace.span import TraceState


_tuple_new = tuple.__new__
_128_BITS = (1 << 128) - 1
# Indexed by the flag bits: 1 sampled, 2 random trace id.
FLAGS = (TraceFlags(0), TraceFlags(1), TraceFlags(2), TraceFlags(3))
# Two more bits of a span's own: a user's generator gave it ids that are not valid, which makes it nobody's parent; it
# was given another span context.
INVALID = 4
REPLACED = 8


class Identity:
    """What a span of ours is known by. Combined with upstream's classes in `span_classes`.

    `made_context` is None until somebody asks for the span context, which is of the two ids, `trace_flags` and
    `trace_state`; unless somebody gave the span another one, which `REPLACED` in its flags says. `trace` is the trace
    id and `drawn` the span id; for a root, whose ids are drawn at once, `trace` is None and `drawn` has the trace's 128
    bits below the span's 64. That takes the same numbers out of `random` as one after the other. What was drawn stays:
    only `made_context` is added.
    """

    __slots__ = ("drawn", "made_context", "trace", "trace_flags", "trace_state")
    drawn: int
    made_context: SpanContext | None
    trace: int | None
    trace_flags: int
    trace_state: TraceState

    def get_span_context(self) -> SpanContext:
        """The span's `SpanContext`."""
        context = self.made_context
        if context is None and self.trace_flags < INVALID:
            try:
                trace_id = self.trace
                span_id = self.drawn
                if trace_id is None:
                    trace_id = span_id & _128_BITS or _drawn_again(128)
                    span_id = span_id >> 128 or _drawn_again(64)
                context = _tuple_new(
                    SpanContext, (trace_id, span_id, False, FLAGS[self.trace_flags], self.trace_state, True)
                )
            except Exception as error:
                faults.report("Span.get_span_context", error)
                context = self._made_plainly()
            self.made_context = context
        return context  # type: ignore[return-value]  # one with ids that are not valid was given

    def _made_plainly(self) -> SpanContext:
        """The span context by upstream's constructor, where the short way failed."""
        if self.made_context is not None or self.trace_flags >= INVALID:
            return self.made_context  # type: ignore[return-value]  # likewise
        trace_id, span_id = self.trace, self.drawn
        if trace_id is None:
            trace_id, span_id = span_id & _128_BITS, span_id >> 128
        return SpanContext(trace_id, span_id, False, FLAGS[self.trace_flags], self.trace_state)  # noqa: FBT003  # positional as in the tuple above

    @property
    def _context(self) -> SpanContext:
        try:
            return self.get_span_context()
        except Exception as error:
            faults.report("Span.get_span_context", error)
            return self._made_plainly()

    @_context.setter
    def _context(self, value: SpanContext | None) -> None:
        self.trace_flags |= REPLACED
        self.made_context = value

    @property
    def trace_id(self) -> int:
        """The trace id, as its span context has it."""
        try:
            return self.get_span_context()[0]
        except Exception as error:
            faults.report("Span.get_span_context", error)
            return self._made_plainly()[0]

    @property
    def span_id(self) -> int:
        """The span id, as its span context has it."""
        try:
            return self.get_span_context()[1]
        except Exception as error:
            faults.report("Span.get_span_context", error)
            return self._made_plainly()[1]


class Dropped(Identity):
    """All that there is to a span of a trace that nobody records."""

    __slots__ = ()


def _drawn_again(bits: int) -> int:
    """An id in the place of zero, which is invalid."""
    drawn = 0
    while not drawn:
        drawn = getrandbits(bits)
    return drawn
