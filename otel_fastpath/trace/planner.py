"""Works out, once per tracer, which short cuts its configuration allows. Upstream's objects are recognised by type.

Samplers, id generators and processors that are not upstream's are called as upstream calls them. A provider or tracer
of an unknown kind gets no plan, and upstream starts its spans.
"""

from __future__ import annotations

import inspect
import logging
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import attributes as attributes_api
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, SynchronousMultiSpanProcessor, Tracer
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import (
    Decision,
    ParentBased,
    ParentBasedTraceIdRatio,
    StaticSampler,
    TraceIdRatioBased,
)
from opentelemetry.trace.span import TraceFlags

from otel_fastpath.trace import sampling
from otel_fastpath.trace.attributes import PLAIN
from otel_fastpath.trace.span_classes import unlimited

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_logger = logging.getLogger(__name__)

PLAN: Final = "_otel_fastpath_plan"
_KINDS = (
    StaticSampler,
    TraceIdRatioBased,
    ParentBased,
    ParentBasedTraceIdRatio,
    RandomIdGenerator,
    BatchSpanProcessor,
    SynchronousMultiSpanProcessor,
    ConcurrentMultiSpanProcessor,
)
_RULES: Final[dict[Decision, int]] = {
    Decision.DROP: sampling.DROP,
    Decision.RECORD_ONLY: sampling.RECORD_ONLY,
    Decision.RECORD_AND_SAMPLE: sampling.SAMPLE,
}
_METHODS = (
    "should_sample",
    "generate_span_id",
    "generate_trace_id",
    "is_trace_id_random",
    "on_start",
    "_on_ending",
    "on_end",
)
_AS_IMPORTED = {kind: {name: getattr(kind, name) for name in _METHODS if hasattr(kind, name)} for kind in _KINDS}
_IS_ENABLED = Tracer._is_enabled
# Since 1.44 a tracer stores its configuration; earlier versions ask the provider each time.
_HAS_CONFIG = "_tracer_config" in _IS_ENABLED.__code__.co_names
_RANDOM_FLAG = getattr(TraceFlags, "RANDOM_TRACE_ID", 0)


def _cleaner() -> Any:
    """Upstream's function that cleans one value, if it works as in 1.45; before that only its container cleans."""
    clean = getattr(attributes_api, "_clean_attribute_value", None)
    if clean is None or "max_string_value_length" not in inspect.signature(clean).parameters:
        return None
    return clean


_CLEAN = _cleaner()


def _is_upstream(value: Any, *kinds: type) -> bool:
    """Whether the object is exactly of one of these types, with the methods that the type was imported with."""
    kind = type(value)
    return kind in kinds and all(
        getattr(kind, name) is function and name not in vars(value) for name, function in _AS_IMPORTED[kind].items()
    )


def _rule(plan: Any, sampler: Any) -> int:
    """The sampler as a number of `sampling`; the bound of a ratio is added to the plan."""
    if _is_upstream(sampler, StaticSampler):
        return _RULES[sampler._decision]
    if not _is_upstream(sampler, TraceIdRatioBased):
        return sampling.ASK
    # The bound is compared with 64 bits of the trace id.
    if not 0 < sampler._bound < 1 << 64:
        return sampling.SAMPLE if sampler._bound > 0 else sampling.DROP
    plan.bounds += (sampler._bound,)
    return sampling.RATIO + len(plan.bounds) - 1


def _is_for_servers(processor: Any) -> bool:
    """Whether this is our processor that handles server and consumer spans only. A subclass may handle more."""
    return "for_server_spans" in vars(type(processor)) and "on_start" not in vars(processor)


class Planner:
    """Makes the plans for one core, and removes them again.

    Args:
        plan: The class of the plans.
        batch: The class that holds what queueing in a batch processor needs.
        span_class: The class of recording spans.
        dropped_class: The class of spans that are not recorded.
        event_class: The class of events.
        is_watched: Whether setting an attribute of this tracer drops its plan.

    Attributes:
        settings: The settings of this process. The hot code gets settings only through the plans.
    """

    def __init__(
        self,
        plan: type,
        batch: type,
        span_class: type,
        dropped_class: type,
        event_class: type,
        is_watched: Callable[[Any], bool],
    ) -> None:
        self.settings: Config | None = None
        self._plan = plan
        self._batch = batch
        self._is_watched = is_watched
        self._span_class = span_class
        self._dropped_class = dropped_class
        self._event_class = event_class
        self._planned: weakref.WeakSet[Tracer] = weakref.WeakSet()
        # By id: a proxy that delegates to a tracer compares equal to it.
        self._refused: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def make_plan(self, tracer: Any) -> Any:
        """Make the tracer's plan and store it on the tracer; None if upstream must start its spans."""
        if self._refused.get(id(tracer)) is tracer:
            return None
        try:
            plan = self._make(tracer)
        except Exception:
            _logger.exception("The fast path cannot read %r; upstream starts its spans.", tracer)
            plan = None
        if plan is None:
            with suppress(TypeError):
                # Some objects cannot have weak references.
                self._refused[id(tracer)] = tracer
            return None
        self._planned.add(tracer)
        vars(tracer)[PLAN] = plan
        if not self._holds(plan, tracer):
            # Another thread configured the tracer while the plan was made.
            vars(tracer).pop(PLAN, None)
            return None
        return plan

    def forget(self) -> None:
        """Remove the plans from all tracers."""
        for tracer in tuple(self._planned):
            vars(tracer).pop(PLAN, None)
        self._planned.clear()
        self._refused.clear()

    def _make(self, tracer: Any) -> Any:
        processor = tracer.span_processor
        if not self._is_watched(tracer) or "start_span" in vars(tracer):
            return None
        if not _is_upstream(processor, SynchronousMultiSpanProcessor, ConcurrentMultiSpanProcessor):
            return None
        plan = self._basic(tracer)
        batching = [each for each in plan.processors if _is_upstream(each, BatchSpanProcessor)]
        others = [each for each in plan.processors if each not in batching]
        if type(processor) is SynchronousMultiSpanProcessor and all(map(_is_for_servers, others)):
            # Server and consumer spans use the other plan; these processors do nothing for all other spans.
            plan.served = self._basic(tracer) if others else None
            plan.starts = False
            plan.only_batches = True
            for each in reversed(batching):
                plan.first_batch = self._batch(each._batch_processor, plan.first_batch)
        else:
            plan.starts = bool(others)
        return plan

    def _basic(self, tracer: Any) -> Any:
        """A plan that passes spans to all processors, as upstream does."""
        processor = tracer.span_processor
        plan = self._plan()
        plan.span_class = self._span_class
        plan.event_class = self._event_class
        plan.dropped_class = self._dropped_class
        plan.tracer_class = type(tracer)
        plan.config = tracer._tracer_config if _HAS_CONFIG and type(tracer)._is_enabled is _IS_ENABLED else None
        # Read at each start of a span: the instance's dict, which has the field.
        plan.switch = None if plan.config is None else vars(plan.config)
        plan.resource = tracer.resource
        plan.scope = tracer._instrumentation_scope
        plan.info = tracer.instrumentation_info
        plan.clean = _CLEAN
        plan.metrics = None if type(tracer._tracer_metrics).__name__ == "NoOpTracerMetrics" else tracer._tracer_metrics
        plan.generator = tracer.id_generator
        plan.random_ids = _is_upstream(plan.generator, RandomIdGenerator)
        plan.random_flag = _RANDOM_FLAG
        plan.asks = not plan.random_ids or plan.metrics is not None
        self._plan_sampling(plan, tracer.sampler)
        self._plan_limits(plan, tracer._span_limits)
        plan.processor = processor
        plan.processor_state = vars(processor)
        plan.processors = processor._span_processors
        plan.served = None
        plan.starts = True
        plan.only_batches = False
        plan.first_batch = None
        return plan

    @staticmethod
    def _holds(plan: Any, tracer: Any) -> bool:
        return (
            plan.sampler is tracer.sampler
            and plan.generator is tracer.id_generator
            and plan.processor is tracer.span_processor
            and plan.limits is tracer._span_limits
            and plan.resource is tracer.resource
            and plan.scope is tracer._instrumentation_scope
            and (plan.config is None or plan.config is tracer._tracer_config)
        )

    @staticmethod
    def _plan_sampling(plan: Any, sampler: Any) -> None:
        plan.sampler = sampler
        plan.bounds = ()
        if _is_upstream(sampler, ParentBased, ParentBasedTraceIdRatio):
            plan.root = _rule(plan, sampler._root)
            plan.remote_sampled = _rule(plan, sampler._remote_parent_sampled)
            plan.remote_not_sampled = _rule(plan, sampler._remote_parent_not_sampled)
            plan.local_sampled = _rule(plan, sampler._local_parent_sampled)
            plan.local_not_sampled = _rule(plan, sampler._local_parent_not_sampled)
        else:
            plan.root = plan.remote_sampled = plan.remote_not_sampled = _rule(plan, sampler)
            plan.local_sampled = plan.local_not_sampled = plan.root

    @staticmethod
    def _plan_limits(plan: Any, limits: Any) -> None:
        plan.limits = limits
        plan.max_attributes = unlimited(limits.max_span_attributes)
        plan.max_value = unlimited(limits.max_span_attribute_length)
        plan.as_is = PLAIN if limits.max_span_attribute_length is None else PLAIN - {str}
        plan.max_events = unlimited(limits.max_events)
        # If no events are kept, their attributes are not needed either.
        plan.max_event_attributes = unlimited(limits.max_event_attributes) if plan.max_events else 0
        plan.max_event_value = unlimited(limits.max_attribute_length)
