"""What starting and ending a span needs of its tracer and of its processors. Plain Python; compiled as `plan_c`."""

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
    """What starting and ending a span needs of its tracer, worked out once by `planner`.

    It holds while the tracer's parts are the same objects that it was made from. Limits that are not set are
    `sys.maxsize`. Values of the types `as_is` are kept as they are, however long.
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
    """The SDK's spans for a module that does without the SDK: `start.KeptSpans`."""

    __slots__ = ()

    def start(
        self, tracer: Tracer, name: str, kind: SpanKind, attributes: types.Attributes, start: int | None
    ) -> object:
        """Start a span in the current context; None where it would be dropped, NotImplemented where upstream must."""
        raise NotImplementedError


class Batch:
    """What queueing a span needs of a `BatchProcessor`; what may change is read from the processor.

    Args:
        processor: The processor. Its queue and limits are the same objects for its whole life, also after a fork.
        after: The `Batch` that a span is queued by after this one, or None.
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
        # With less in the queue, one more is all that there is to do.
        self.room = min(self.max_queue, self.max_batch - 1)
        self.pid = processor._pid


def enqueue(batch: Batch, span: ReadableSpan) -> None:
    """`BatchProcessor.emit` for the case that nothing is in the way; else that method itself."""
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
            # It is queued: raised, this would have it queued again. The worker comes when its time is over.
            faults.report("Span.end", error)
