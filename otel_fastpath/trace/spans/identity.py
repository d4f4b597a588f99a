"""The identity of a span: its ids and flags, and its `SpanContext`, made on first use. Compiled as `identity_c`."""

from __future__ import annotations

from random import getrandbits
from typing import TYPE_CHECKING

from opentelemetry.trace.span import SpanContext, TraceFlags

from otel_fastpath.compiled.helpers import new_tuple
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from opentelemetry.trace.span import TraceState


_128_BITS = (1 << 128) - 1
# Indexed by the flag bits: 1 sampled, 2 random trace id.
FLAGS = (TraceFlags(0), TraceFlags(1), TraceFlags(2), TraceFlags(3))
# Two more bits, for internal use. INVALID: a custom id generator returned invalid ids, so the span has no children.
# REPLACED: another span context was assigned to the span.
INVALID = 4
REPLACED = 8


class Identity:
    """The identity of a span. Combined with stock's classes in `span_classes`.

    `made_context` is None until the span context is read; it is then made from the two ids, `trace_flags` and
    `trace_state`. If another span context was assigned, `REPLACED` is set in the flags. `trace` is the trace id and
    `drawn` the span id. The two ids of a root span are drawn in one call: its `trace` is None, and `drawn` has the 128
    bits of the trace id below the 64 of the span id. This takes the same numbers from `random` as two calls. The drawn
    ids never change; only `made_context` is added.
    """

    __slots__ = ("drawn", "made_context", "trace", "trace_flags", "trace_state")
    drawn: int
    made_context: SpanContext | None
    trace: int | None
    trace_flags: int
    trace_state: TraceState

    @critical_section
    def span_context(self) -> SpanContext:
        """The span's `SpanContext`."""
        context = self.made_context
        if context is None and self.trace_flags < INVALID:
            try:
                trace_id = self.trace
                span_id = self.drawn
                if trace_id is None:
                    trace_id = span_id & _128_BITS or _draw_again(128)
                    span_id = span_id >> 128 or _draw_again(64)
                context = new_tuple(
                    SpanContext, (trace_id, span_id, False, FLAGS[self.trace_flags], self.trace_state, True)
                )
            except Exception as error:
                faults.absorb_any("Span.get_span_context", error)
                context = self._made_plainly()
            self.made_context = context
        return context  # type: ignore[return-value]  # set already if the ids are invalid

    def _made_plainly(self) -> SpanContext:
        """The span context, made by stock's constructor after the short way failed."""
        if self.made_context is not None or self.trace_flags >= INVALID:
            return self.made_context  # type: ignore[return-value]  # likewise
        trace_id, span_id = self.trace, self.drawn
        if trace_id is None:
            trace_id, span_id = span_id & _128_BITS, span_id >> 128
        return SpanContext(trace_id, span_id, False, FLAGS[self.trace_flags], self.trace_state)  # noqa: FBT003  # positional as in the tuple above

    @property
    def _context(self) -> SpanContext:
        try:
            return self.span_context()
        except Exception as error:
            faults.absorb_any("Span.get_span_context", error)
            return self._made_plainly()

    @_context.setter
    def _context(self, value: SpanContext | None) -> None:
        self.trace_flags |= REPLACED
        self.made_context = value

    @property
    def trace_id(self) -> int:
        """The trace id of the span context."""
        try:
            return self.span_context()[0]
        except Exception as error:
            faults.absorb_any("Span.get_span_context", error)
            return self._made_plainly()[0]

    @property
    def span_id(self) -> int:
        """The span id of the span context."""
        try:
            return self.span_context()[1]
        except Exception as error:
            faults.absorb_any("Span.get_span_context", error)
            return self._made_plainly()[1]


class Dropped(Identity):
    """A span that is not recorded: only its identity is kept."""

    __slots__ = ()

    def get_span_context(self) -> SpanContext:
        """The span's `SpanContext`."""
        return self.span_context()


def _draw_again(bits: int) -> int:
    """Draw an id to replace one that is zero, which is invalid."""
    drawn = 0
    while not drawn:
        drawn = getrandbits(bits)
    return drawn
