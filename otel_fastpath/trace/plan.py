"""What starting and ending a span needs to know of its tracer and processors. Plain Python; compiled as `plan_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_fastpath.compiled.helpers import process_id
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk._shared_internal import BatchProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, Tracer
    from opentelemetry.sdk.trace._tracer_metrics import TracerMetrics
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.sdk.trace.sampling import Sampler
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanKind
    from opentelemetry.util import types


class Plan:
    """What starting and ending a span needs to know of its tracer, worked out once by `planner`.

    It is valid while the tracer has the same parts that it was made from. Limits that are not set are `sys.maxsize`.
    Values of the types in `as_is` are stored unchanged, however long.
    """

    __slots__ = (
        "as_is",
        "asks",
        "bounds",
        "clean",
        "config",
        "dropped_class",
        "event_class",
        "first_batch",
        "generator",
        "info",
        "limits",
        "local_not_sampled",
        "local_sampled",
        "max_attributes",
        "max_event_attributes",
        "max_event_value",
        "max_events",
        "max_value",
        "metrics",
        "only_batches",
        "processor",
        "processor_state",
        "processors",
        "random_flag",
        "random_ids",
        "remote_not_sampled",
        "remote_sampled",
        "resource",
        "root",
        "sampler",
        "scope",
        "served",
        "span_class",
        "starts",
        "switch",
        "tracer_class",
    )
    as_is: frozenset[type]
    asks: bool
    bounds: tuple[int, ...]
    clean: Callable[[object, int | None], object] | None
    config: object
    dropped_class: type
    event_class: type
    first_batch: Batch | None
    generator: IdGenerator
    info: object
    limits: SpanLimits
    local_not_sampled: int
    local_sampled: int
    max_attributes: int
    max_event_attributes: int
    max_event_value: int
    max_events: int
    max_value: int
    metrics: TracerMetrics | None
    only_batches: bool
    processor: SpanProcessor
    processor_state: dict[str, object]
    processors: tuple[SpanProcessor, ...]
    random_flag: int
    random_ids: bool
    remote_not_sampled: int
    remote_sampled: int
    resource: Resource
    root: int
    sampler: Sampler
    scope: InstrumentationScope
    served: Plan | None
    span_class: type
    starts: bool
    switch: dict[str, bool] | None
    tracer_class: type


class Spans:
    """Starts the SDK's spans for a module that does not import the SDK. Implemented by `start.KeptSpans`."""

    __slots__ = ()

    def start(
        self, tracer: Tracer, name: str, kind: SpanKind, attributes: types.Attributes, start: int | None
    ) -> object:
        """Start a span in the current context; None if it would be dropped, NotImplemented if upstream must do it."""
        raise NotImplementedError


class Batch:
    """The parts of a `BatchProcessor` that queue a span; values that may change are read from the processor.

    Args:
        processor: The processor. Its queue and limits are the same objects for its whole life, also after a fork.
        after: The `Batch` that queues the span next, or None.
    """

    __slots__ = ("after", "append", "max_batch", "max_queue", "pid", "processor", "queue", "room", "state")

    def __init__(self, processor: BatchProcessor[ReadableSpan], after: Batch | None) -> None:
        self.processor = processor
        self.state = vars(processor)
        self.after = after
        self.queue = processor._queue
        self.append = self.queue.appendleft
        self.max_queue = processor._max_queue_size
        self.max_batch = processor._max_export_batch_size
        # With fewer spans in the queue, appending one is all there is to do.
        self.room = min(self.max_queue, self.max_batch - 1)
        self.pid = processor._pid


def enqueue(batch: Batch, span: ReadableSpan) -> None:
    """Do what `BatchProcessor.emit` does in the common case; call that method in any other."""
    length = len(batch.queue) + 1
    if length > batch.max_queue or batch.pid != process_id() or batch.state["_shutdown"]:
        batch.processor.emit(span)
        batch.pid = batch.processor._pid
        return
    batch.append(span)
    if length >= batch.max_batch:
        try:
            awaken = batch.processor._worker_awaken
            if not awaken.is_set():
                awaken.set()
        except Exception as error:
            # The span is queued; raising would queue it again. The worker runs at its next scheduled time.
            faults.report("Span.end", error)
