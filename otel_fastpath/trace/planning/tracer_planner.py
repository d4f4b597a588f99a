"""Works out, once per tracer, which short cuts its configuration allows. Stock's objects are recognised by type.

Samplers, id generators and processors that are not stock's are called as stock calls them. A provider or tracer
of an unknown kind gets no plan, and stock starts its spans.
"""

from __future__ import annotations

import inspect
import logging
from contextlib import suppress
from sys import maxsize
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import attributes as attributes_api
from opentelemetry.sdk.trace import Tracer
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace.span import TraceFlags

from otel_fastpath.compiled.facts import ABSENT, is_true
from otel_fastpath.patching import faults, stock
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.trace.planning.processor_routes import Route, Router, SpanCore, is_stock
from otel_fastpath.trace.planning.read_values import READ_AT_START
from otel_fastpath.trace.planning.samplers import FIELDS, SHOULD_SAMPLE, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_fastpath.settings import Config
    from otel_fastpath.trace.planning.processor_routes import Fact

# The name of 0.2.0, from where this module stood: it is what users select by.
_logger = logging.getLogger("otel_fastpath.trace.planning.planner")
# Types whose values are stored unchanged.
_PLAIN: Final = frozenset({str, int, float, bool})

PLAN: Final = "_otel_fastpath_plan"
# Where a processor keeps the plan that those of other tracers are copied from.
_MODEL: Final = "_otel_fastpath_model"
# Where a sampler keeps its rules.
_SAMPLING: Final = "_otel_fastpath_sampling"
# How many tracers keep their plans. A span of another gets a copy of its provider's.
_MOST: Final = 1024
_GENERATES: Final = ("generate_span_id", "generate_trace_id", "is_trace_id_random")
_IS_ENABLED = Tracer._is_enabled
# Since 1.44 a tracer stores its configuration; earlier versions ask the provider each time.
_HAS_CONFIG = "_tracer_config" in _IS_ENABLED.__code__.co_names
_RANDOM_FLAG = getattr(TraceFlags, "RANDOM_TRACE_ID", 0)


def _cleaner() -> Any:
    """Stock's function that cleans one value, if it works as in 1.45; before that only its container cleans."""
    clean = getattr(attributes_api, "_clean_attribute_value", None)
    if clean is None or "max_string_value_length" not in inspect.signature(clean).parameters:
        return None
    return clean


_CLEAN = _cleaner()


def _facts_of(part: Any, names: Sequence[str]) -> list[Fact]:
    """That a sampler or generator is as it is now, with these methods.

    Raises:
        TypeError: It has no `__dict__`.
    """
    facts: list[Fact] = []
    for each in (part, *(each for name, each in vars(part).items() if name in FIELDS and hasattr(each, "__dict__"))):
        known = [name for name in names if hasattr(type(each), name)]
        facts += [(type(each), name, getattr(type(each), name)) for name in known]
        facts += [(each, name, ABSENT) for name in known]
        facts += [(each, name, value) for name, value in vars(each).items() if name in FIELDS]
    return facts


class TracerPlanner:
    """Makes the plans for one core, and removes them again.

    Args:
        core: The core.
        is_watched: Whether setting an attribute of this tracer drops its plan.

    Attributes:
        settings: The settings of this process. The hot code gets settings only through the plans.
        leaves_start: Whether stock's `Tracer.start_span` creates the spans, and has the processors' `on_start` called.
    """

    def __init__(self, core: SpanCore, is_watched: Callable[[Any], bool]) -> None:
        self.settings: Config | None = None
        self.leaves_start = False
        self._core = core
        self._is_watched = is_watched
        self._plans = core.store(PLAN, _MOST)
        self._models = core.store(_MODEL)
        self._samplings = core.store(_SAMPLING)
        self._router = Router(core)

    def make_plan(self, tracer: Any) -> Any:
        """Make the tracer's plan and store it on the tracer; None if stock must start its spans."""
        is_own = issubclass(type(tracer), Tracer)
        if is_own:
            plan = self._like_others(tracer)
            if plan is not None:
                return self._keep(plan, tracer)
        else:
            plan = self._plans.beside(tracer)
            # Nobody notices when a part of an object that delegates to a tracer is set.
            if plan is not None and plan.starting.is_held() and self._holds(plan, tracer):
                return plan
        # Other code may replace these for a while only.
        if not is_true(self._router.starting) or self._plans.is_refused(tracer):
            return None
        try:
            plan = self.plan_own(tracer) if is_own else self._plans.keep_beside(self._plan(tracer), tracer)
        except Exception as error:
            faults.raise_interruption(error)
            _logger.exception("The fast path cannot read %r; stock starts its spans.", tracer)
            plan = None
        if plan is None:
            self._plans.refuse(tracer)
        return self._keep(plan, tracer) if is_own and plan is not None else plan

    def _keep(self, plan: Any, tracer: Any) -> Any:
        """Store the plan on its tracer, and return it; None if it does not fit any more."""
        if not self._plans.try_make_room(tracer):
            # It serves one span.
            return plan
        if plan.config is not None:
            # Read at each start of a span: the instance's dict, which has the field.
            plan.switch = vars(plan.config)
        self._plans.keep(plan, tracer)
        if not self._holds(plan, tracer):
            # Another thread configured the tracer while the plan was made.
            self._plans.drop(tracer)
            return None
        return plan

    def seen(self) -> tuple[list[Any], list[Any], Any]:
        """For the status: the tracers that have a plan, those that can have none, and what every plan rests on."""
        return self._plans.owners(refused=False), self._plans.owners(refused=True), self._router.starting

    def why_refused(self, tracer: Any) -> str:
        """Why the tracer can have no plan, or an empty string."""
        if not self._is_watched(tracer):
            kind = type(tracer)
            return f"{kind.__name__}.__setattr__ is in {origin(kind.__setattr__)}"
        if "start_span" in vars(tracer):
            return f"start_span was set on the tracer, by {origin(vars(tracer)['start_span'])}"
        return ""

    def forget(self) -> None:
        """Remove the plans from all tracers."""
        for store in (self._plans, self._models, self._samplings, self._router.routes):
            store.forget()

    def plan_own(self, tracer: Any) -> Any:
        """Make the plan of a tracer of the SDK's own class."""
        if self.why_refused(tracer):
            return None
        plan = self._plan(tracer)
        self._models.keep_values(tracer.span_processor, plan, None)
        return plan

    def _like_others(self, tracer: Any) -> Any:
        """A plan like that of another tracer of the same provider, or None."""
        # Not in its `__dict__`, which CPython would have to make.
        kind: Any = type(tracer)
        start, processor = getattr(tracer, "start_span", None), getattr(tracer, "span_processor", None)
        model = self._models.kept(processor)
        if model is None or getattr(start, "__self__", None) is not tracer:
            return None
        if getattr(start, "__func__", None) is not kind.start_span:
            return None
        if model.values[1] is None and not self._try_find_facts(model):
            return None
        plan = self._core.copy_for(*model.values, tracer)
        if plan is not None:
            self._make_own(plan, tracer)
            if plan.served is not None:
                self._make_own(plan.served, tracer)
        return plan

    def _try_find_facts(self, model: Any) -> bool:
        """Set what a copy of the model rests on; False if there can be none. Many providers have one tracer only."""
        plan = model.values[0]
        rules = self._sampling_of(plan.sampler)[0]
        if any(getattr(plan, name) != value for name, value in rules._asdict().items()) or not is_true(plan.starting):
            return False
        # Besides the route and the parts that `_holds` compares.
        facts = [*plan.starting.items, *plan.ending.items]
        facts.append((plan.tracer_class, "__setattr__", plan.tracer_class.__setattr__))
        try:
            facts += [*_facts_of(plan.sampler, SHOULD_SAMPLE), *_facts_of(plan.generator, _GENERATES)]
        except TypeError:
            return False
        model.values = plan, self._core.facts(facts)
        return True

    def _plan(self, tracer: Any) -> Any:
        plan = self._basic(tracer)
        routes = self._router.routes_of(plan.processor)
        self._take(plan, routes[0])
        if len(routes) > 1:
            plan.served = self._basic(tracer)
            self._take(plan.served, routes[1])
        return plan

    def _take(self, plan: Any, route: Route) -> None:
        """Set the way through the processors, and the sampler's rules, which `starting` rests on, too."""
        rules, sampled, plan.sampling, *_ = self._sampling_of(plan.sampler)
        for name, value in (*route._asdict().items(), *rules._asdict().items()):
            setattr(plan, name, value)
        if self.leaves_start:
            plan.on_start = ()
        plan.held_ending, plan.is_stale = is_true(route.ending), False
        generated = stock.watched(RandomIdGenerator, *_GENERATES) if plan.random_ids else ()
        plan.starting = self._core.facts([*plan.starting.items, *sampled, *generated])

    def _sampling_of(self, sampler: Any) -> Any:
        """The sampler's rules, what they rest on, that with the values read, and the sampler as it was.

        Many providers have the same one, which keeps them.
        """
        kept = self._samplings.kept(sampler)
        if kept is not None and is_true(kept.values[-1]):
            return kept.values
        rules, facts = rules_of(sampler)
        values = rules, facts, self._core.facts([*facts, *READ_AT_START])
        with suppress(TypeError):
            self._samplings.keep_values(
                sampler, *values, self._core.facts([*facts, *_facts_of(sampler, SHOULD_SAMPLE)])
            )
        return values

    def _basic(self, tracer: Any) -> Any:
        """A plan for the tracer, without its processors."""
        plan = self._core.plan()
        plan.span_class = self._core.span_class
        plan.read_only_class = self._core.read_only_class
        plan.event_class = self._core.event_class
        plan.dropped_class = self._core.dropped_class
        plan.tracer_class = type(tracer)
        plan.resource = tracer.resource
        plan.clean = _CLEAN
        plan.generator = tracer.id_generator
        plan.random_ids = is_stock(plan.generator, RandomIdGenerator, _GENERATES)
        plan.random_flag = _RANDOM_FLAG
        self._make_own(plan, tracer)
        plan.sampler = tracer.sampler
        self._plan_limits(plan, tracer._span_limits)
        plan.processor = tracer.span_processor
        plan.served = None
        return plan

    @staticmethod
    def _make_own(plan: Any, tracer: Any) -> None:
        """Set what is the tracer's own, and not its provider's."""
        has_config = _HAS_CONFIG and getattr(type(tracer), "_is_enabled", None) is _IS_ENABLED
        plan.config = tracer._tracer_config if has_config else None
        plan.switch = None
        plan.scope = tracer._instrumentation_scope
        plan.info = tracer.instrumentation_info
        plan.metrics = None if type(tracer._tracer_metrics).__name__ == "NoOpTracerMetrics" else tracer._tracer_metrics
        plan.asks = not plan.random_ids or plan.metrics is not None

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
    def _plan_limits(plan: Any, limits: Any) -> None:
        plan.limits = limits
        plan.max_attributes = _unlimited(limits.max_span_attributes)
        plan.max_value = _unlimited(limits.max_span_attribute_length)
        plan.as_is = _PLAIN if limits.max_span_attribute_length is None else _PLAIN - {str}
        plan.max_events = _unlimited(limits.max_events)
        # If no events are kept, their attributes are not needed either.
        plan.max_event_attributes = _unlimited(limits.max_event_attributes) if plan.max_events else 0
        plan.max_event_value = _unlimited(limits.max_attribute_length)


def _unlimited(limit: int | None) -> int:
    """The limit as a number; no limit is `sys.maxsize`."""
    return maxsize if limit is None else limit
