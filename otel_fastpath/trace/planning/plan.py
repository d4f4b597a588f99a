"""What starting and ending a span needs to know of its tracer and processors. Plain Python; compiled as `plan_c`."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

from otel_fastpath.compiled.helpers import new_instance, process_id
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import Plan
from otel_fastpath.patching.stock import is_written
from otel_fastpath.trace.stock_sources import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.sdk._shared_internal import BatchProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, Tracer
    from opentelemetry.sdk.trace._tracer_metrics import TracerMetrics
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.sdk.trace.sampling import Sampler
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Span, SpanKind
    from opentelemetry.util import types

    from otel_fastpath.compiled.facts import Facts


class TracerPlan(Plan):
    """What starting and ending a span needs to know of its tracer, worked out once by `planner`.

    It is valid while the tracer has the same parts that it was made from, and while nobody has replaced what is skipped
    at the start of a span (`starting`), of one that is dropped (`sampling`), or at its end (`ending`). Limits that are
    not set are `sys.maxsize`. Values of the types in `as_is` are stored unchanged, however long.

    `on_start`, `on_ending` and `on_end` are the processors whose methods of these names are called, in order; those
    whose method does nothing are left out. In `on_end`, a `ProcessorQueue` stands for a batch processor. If there is
    nothing else in it, `only_batches` is set.

    `held_ending` says whether `ending` held when the plan was made. If it does not hold later, the plan is stale, and
    the next span gets another.
    """

    __slots__ = (
        "as_is",
        "asks",
        "bounds",
        "clean",
        "config",
        "delegates",
        "dropped_class",
        "ending",
        "event_class",
        "generator",
        "held_ending",
        "info",
        "is_stale",
        "limits",
        "local_not_sampled",
        "local_sampled",
        "max_attributes",
        "max_event_attributes",
        "max_event_value",
        "max_events",
        "max_value",
        "metrics",
        "on_end",
        "on_ending",
        "on_start",
        "only_batches",
        "processor",
        "random_flag",
        "random_ids",
        "read_only_class",
        "remote_not_sampled",
        "remote_sampled",
        "resource",
        "root",
        "sampler",
        "sampling",
        "scope",
        "served",
        "span_class",
        "starting",
        "switch",
        "tracer_class",
    )
    as_is: frozenset[type]
    asks: bool
    bounds: tuple[int, ...]
    clean: Callable[[object, int | None], object] | None
    config: object
    delegates: tuple[Sampler, ...]
    dropped_class: type
    ending: Facts
    event_class: type
    generator: IdGenerator
    held_ending: bool
    info: object
    is_stale: bool
    limits: SpanLimits
    local_not_sampled: int
    local_sampled: int
    max_attributes: int
    max_event_attributes: int
    max_event_value: int
    max_events: int
    max_value: int
    metrics: TracerMetrics | None
    on_end: tuple[ProcessorQueue | SpanProcessor, ...]
    on_ending: tuple[SpanProcessor, ...]
    on_start: tuple[SpanProcessor, ...]
    only_batches: bool
    processor: SpanProcessor
    random_flag: int
    random_ids: bool
    read_only_class: type
    remote_not_sampled: int
    remote_sampled: int
    resource: Resource
    root: int
    sampler: Sampler
    sampling: Facts
    scope: InstrumentationScope
    served: TracerPlan | None
    span_class: type
    starting: Facts
    switch: dict[str, bool] | None
    tracer_class: type


def copy_for(plan: TracerPlan, facts: Facts, tracer: Tracer) -> TracerPlan | None:
    """A copy of the plan but for what is a tracer's own; None if the facts do not hold or it has other parts."""
    if not (
        plan.tracer_class is type(tracer)
        and plan.sampler is tracer.sampler
        and plan.generator is tracer.id_generator
        and plan.limits is tracer._span_limits
        and plan.resource is tracer.resource
        and facts.hold()
    ):
        return None
    return _copy(plan)


def _copy(plan: TracerPlan) -> TracerPlan:
    made: TracerPlan = new_instance(type(plan))
    made.as_is, made.bounds, made.clean = plan.as_is, plan.bounds, plan.clean
    made.delegates, made.dropped_class, made.ending = plan.delegates, plan.dropped_class, plan.ending
    made.event_class, made.generator, made.held_ending = plan.event_class, plan.generator, plan.held_ending
    made.is_stale, made.limits, made.local_not_sampled = plan.is_stale, plan.limits, plan.local_not_sampled
    made.local_sampled, made.max_attributes, made.max_event_attributes = (
        plan.local_sampled,
        plan.max_attributes,
        plan.max_event_attributes,
    )
    made.max_event_value, made.max_events, made.max_value = plan.max_event_value, plan.max_events, plan.max_value
    made.on_end, made.on_ending, made.on_start = plan.on_end, plan.on_ending, plan.on_start
    made.only_batches, made.processor, made.random_flag = plan.only_batches, plan.processor, plan.random_flag
    made.random_ids, made.read_only_class, made.remote_not_sampled = (
        plan.random_ids,
        plan.read_only_class,
        plan.remote_not_sampled,
    )
    made.remote_sampled, made.resource, made.root = plan.remote_sampled, plan.resource, plan.root
    made.sampler, made.sampling, made.span_class, made.starting = (
        plan.sampler,
        plan.sampling,
        plan.span_class,
        plan.starting,
    )
    made.tracer_class = plan.tracer_class
    made.served = None if plan.served is None else _copy(plan.served)
    return made


class LazyAttributes:
    """The name and attributes of a span, which are only made if it is recorded, or if a sampler asks for them.

    Attributes:
        name: The name; None before `make` was called.
        attributes: The attributes.
    """

    __slots__ = ("attributes", "name")
    attributes: dict[str, Any] | None
    name: str | None

    def make(self) -> None:
        """Set the name and the attributes, unless they are set already."""
        raise NotImplementedError


class SpanStarter:
    """Starts the SDK's spans for a module that does not import the SDK. Implemented by `start.KeptSpans`."""

    __slots__ = ()

    def start(
        self, tracer: Tracer, name: str, kind: SpanKind, attributes: types.Attributes, start: int | None
    ) -> object:
        """Start a span in the current context; None if it would be dropped, NotImplemented if stock must do it."""
        raise NotImplementedError

    def start_late(self, tracer: Tracer, kind: SpanKind, late: LazyAttributes) -> object:
        """Start a span in the current context, also one that is dropped; NotImplemented if stock must do it."""
        raise NotImplementedError

    def emit(self, tracer: Tracer, name: str, kind: SpanKind, attributes: types.Attributes) -> object:
        """Start a span in the current context, and end it at once.

        Returns:
            True: it was recorded. The span: the caller is to end it. None and NotImplemented: as `start`.
        """
        raise NotImplementedError

    def drops(self, tracer: Tracer) -> bool:
        """Whether it is certain that this tracer's spans are dropped in the current context."""
        raise NotImplementedError

    def drops_below(self, tracer: Tracer, span: object) -> bool:
        """Whether it is certain that this tracer's spans below this dropped one are dropped, too."""
        raise NotImplementedError

    def is_recording(self, span: Span) -> bool:
        """What `span.is_recording()` returns."""
        raise NotImplementedError


class ProcessorQueue(Plan):
    """The parts of a `BatchProcessor` that queue a span; values that may change are read from the processor.

    If its `emit` is not one that this package knows, that is called for each span: no process has the `pid` 0.

    Args:
        processor: The processor. Its queue and limits are the same objects for its whole life, also after a fork.
    """

    __slots__ = ("append", "has_known_emit", "max_batch", "max_queue", "pid", "processor", "queue", "state")

    def __init__(self, processor: BatchProcessor[ReadableSpan]) -> None:
        self.processor = processor
        self.state = vars(processor)
        self.queue = processor._queue
        self.append = self.queue.appendleft
        self.max_queue = processor._max_queue_size
        self.max_batch = processor._max_export_batch_size
        self.has_known_emit = is_written(type(processor), "emit", KNOWN)
        self.pid = processor._pid if self.has_known_emit else 0

    def on_end(self, span: ReadableSpan) -> None:
        """Do what `BatchSpanProcessor.on_end` does."""
        if span.context is not None and span.context.trace_flags.sampled:
            self.processor.emit(span)


def enqueue(batch: ProcessorQueue, span: ReadableSpan) -> None:
    """Do what `BatchProcessor.emit` does in the common case; call that method in any other."""
    length = len(batch.queue) + 1
    if length > batch.max_queue or batch.pid != process_id() or batch.state["_shutdown"]:
        batch.processor.emit(span)
        batch.pid = batch.processor._pid if batch.has_known_emit else 0
        return
    batch.append(span)
    if length >= batch.max_batch:
        try:
            awaken = batch.processor._worker_awaken
            if not awaken.is_set():
                _set(awaken)
        except Exception as error:
            # The span is queued; raising would queue it again. The worker runs at its next scheduled time.
            faults.raise_interruption(error)
            faults.report("Span.end", error)


def _set(event: Event) -> None:
    """Do what `Event.set` does, of which a signal handler that raises can leave its lock acquired, for ever."""
    # gevent's has neither.
    condition = getattr(event, "_cond", None)
    lock = getattr(condition, "_lock", None)
    if type(event) is not Event or condition is None or lock is None:
        event.set()
        return
    # Not the condition, whose `__enter__` is a Python function: what arrives before it returns finds the lock acquired.
    with lock:
        event._flag = True  # type: ignore[attr-defined]  # likewise
        condition.notify_all()
