"""The end of a span, and its way to the processors. Plain Python; compiled as `ending_c` with the types of its `.pxd`.

The steps and their order are those of `opentelemetry.sdk.trace.Span.end`. As in `span`, all but the common cases are
left to stock's own method, and nothing is done twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk._shared_internal import BatchProcessor

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import address, get_item, read_clock
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import PlanStore
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.planning.plan import ProcessorQueue, enqueue
from otel_fastpath.trace.spans.identity import INVALID, REPLACED
from otel_fastpath.trace.spans.recorded import SpanState, read_only_copy
from otel_fastpath.trace.spans.span import make_room

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import ReadableSpan, Span
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from otel_fastpath.trace.planning import plan as plans


# How far `_try_end` has come. Each is set before the step that may fail.
_BEGUN = -1
_ENDED = 0
_MEASURED = 1
_ANNOUNCED = 2
_sdk_globals = vars(_sdk_trace)
# The replacement for `Span.end`, to see whether other code has replaced it since.
_end_facts = Facts([(_sdk_trace.Span, "end", None)])
# Where a batch processor keeps its `ProcessorQueue`.
BATCH = "_otel_fastpath_batch"
QUEUES = PlanStore(BATCH)


def bind_end(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.end`.

    If all processors are stock's batch processors, the span itself is queued: an ended span is read-only.
    """
    switch = Switch()

    def end(self: Span, end_time: int | None = None) -> None:
        if isinstance(self, SpanState) and not switch.inert and _try_end(self, end_time):
            return
        original(self, end_time)

    replacement = make_switchable(original, end, switch)
    _end_facts.renew([(_sdk_trace.Span, "end", replacement)])
    return replacement


def try_end_at_once(span: SpanState) -> bool:
    """End a span that was just started, if nobody else has seen it; False if its own method must do it."""
    return not span.plan.on_start and _end_facts.hold() and _try_end(span, None)


def _try_end(span: SpanState, end_time: int | None) -> bool:
    """End the span and hand it to the processors; False if stock's method must do it."""
    done = _BEGUN
    sent = 0
    try:
        now = read_clock(_sdk_globals) if end_time is None else end_time
        if not _try_set_end_time(span, now):
            make_room(span)
            return False
        done = _ENDED
        metrics = span._record_end_metrics
        if metrics is not None:
            done = _MEASURED
            metrics()
        plan = span.plan
        is_planned = span.trace_flags < REPLACED and plan.ending.hold()
        done = _ANNOUNCED
        if not is_planned:
            plan.is_stale = plan.held_ending
            plan.processor._on_ending(span)  # type: ignore[arg-type]  # a `_Span` by its class in `span_classes`
            readable = span._readable_span()  # type: ignore[attr-defined]  # likewise
            sent = len(plan.on_end)
            plan.processor.on_end(readable)
            return True
        for processor in plan.on_ending:
            processor._on_ending(span)  # type: ignore[arg-type]  # likewise
        ended = span if plan.only_batches else read_only_copy(span, plan.read_only_class)
        for receiver in plan.on_end:
            if not isinstance(receiver, ProcessorQueue):
                sent += 1
                receiver.on_end(ended)  # type: ignore[arg-type]  # a `ReadableSpan` by its class in `span_classes`
                continue
            if span.trace_flags & 1:
                enqueue(receiver, ended)  # type: ignore[arg-type]  # likewise
            sent += 1
    except Exception as error:
        faults.absorb("Span.end", error)
        if done == _BEGUN:
            return False
        span._end_further(done == _ENDED, done <= _MEASURED, sent)  # type: ignore[attr-defined]  # likewise
    return True


@critical_section
def _try_set_end_time(span: SpanState, now: int) -> bool:
    """Set the end time; False if stock's method must do it."""
    if (
        span.bounded_attributes is not None
        or span.lock is not None
        or span._start_time is None
        or span._end_time is not None
    ):
        return False
    span._end_time = now
    return True


def bind_on_end(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `BatchSpanProcessor.on_end`, which subclasses of the processor call."""
    switch = Switch()

    def on_end(self: BatchSpanProcessor, span: ReadableSpan) -> None:
        try:
            if isinstance(span, SpanState) and not switch.inert and _try_queue(self, span):
                return
        except Exception as error:
            faults.absorb("BatchSpanProcessor.on_end", error)
        original(self, span)

    return make_switchable(original, on_end, switch)


def _try_queue(processor: BatchSpanProcessor, span: SpanState) -> bool:
    """Queue an ended span; False if stock's method must do it."""
    if span.trace_flags >= INVALID:
        return False
    if span.trace_flags & 1:
        batch = batch_of(processor)
        if batch is None:
            return False
        enqueue(batch, span)  # type: ignore[arg-type]  # a `ReadableSpan` by its class in `span_classes`
    return True


def batch_of(processor: BatchSpanProcessor) -> plans.ProcessorQueue | None:
    """What queueing in a batch processor needs, made once and stored on it; None if only the processor can do it."""
    fields = processor.__dict__
    inner = get_item(fields, "_batch_processor")
    found = get_item(fields, BATCH)
    if isinstance(found, ProcessorQueue):
        batch = found
        if batch.owner == address(processor) and batch.processor is inner:
            return batch
    if type(inner) is not BatchProcessor or "emit" in inner.__dict__:
        return None
    return QUEUES.keep(ProcessorQueue(inner), processor)  # type: ignore[no-any-return]  # the queue
