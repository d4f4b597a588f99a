"""Prepares the hot modules of spans for the settings of this process."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath import compiled
from otel_fastpath.compiled import hot

if TYPE_CHECKING:
    from otel_fastpath.patching.instrumentor_report import TracerStatus
    from otel_fastpath.settings import Config
    from otel_fastpath.trace.planning.tracer_planner import TracerPlanner

# The functions that replaced Tracer.__setattr__ in this process: they drop a tracer's plan when an attribute is set.
WATCHERS: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


class Ready(NamedTuple):
    """One implementation of the hot modules, ready for use.

    Attributes:
        core: "c" or "py".
        methods: The module `trace.tracer`, which replaces the tracer's methods.
        start: The module `trace.start`, which they call.
        planner: Makes the plans of tracers.
    """

    core: str
    methods: Any
    start: Any
    planner: TracerPlanner


def set_up(settings: Config) -> Ready:
    """Prepare the hot modules. Called whenever a patch that needs them is applied.

    Args:
        settings: The settings for the plans, which the hot code reads.
    """
    ready = _ready(compiled.implementation()[0])
    ready.planner.settings = settings
    ready.start.configure(ready.planner.make_plan)
    return ready


def forget_plans() -> None:
    """Remove the plans from all tracers and processors."""
    _ready(compiled.implementation()[0]).planner.forget()
    hot.trace_spans_ending.QUEUES.forget()


def forget_names() -> None:
    """Remove from all providers what they are asked for by name."""
    hot.trace_by_name.PLANS.forget()


def ways() -> list[TracerStatus]:
    """Which way the spans of each tracer take, and why; none if no patch has needed the hot modules."""
    if not _ready.cache_info().currsize:
        return []
    from otel_fastpath.trace.planning import explain_tracers  # noqa: PLC0415  # it imports the SDK, which is being patched by now

    return explain_tracers.ways(_ready(compiled.implementation()[0]).planner)


@functools.cache
def _ready(core: str) -> Ready:
    # These import the SDK, so they are imported only when it is patched.
    from otel_fastpath.trace.planning import processor_routes  # noqa: PLC0415  # see above
    from otel_fastpath.trace.planning import tracer_planner as planning  # noqa: PLC0415  # see above
    from otel_fastpath.trace.spans import containers, span_classes  # noqa: PLC0415  # see above

    recorded, plans = hot.trace_spans_recorded, hot.trace_planning_plan
    parts = processor_routes.SpanCore(
        plan=plans.TracerPlan,
        copy_for=plans.copy_for,
        facts=hot.compiled_facts.Facts,
        store=hot.patching_plans.PlanStore,
        batch=plans.ProcessorQueue,
        batch_of=hot.trace_spans_ending.batch_of,
        span_class=span_classes.make_span_class(
            recorded, hot.trace_spans_events.try_record_escape, hot.trace_stock_steps
        ),
        read_only_class=span_classes.make_readable_class(recorded),
        dropped_class=span_classes.make_dropped_class(hot.trace_spans_identity.Dropped),
        event_class=containers.make_event_class(recorded.EventState),
    )
    planner = planning.TracerPlanner(parts, lambda tracer: type(tracer).__setattr__ in WATCHERS)
    return Ready(core, hot.trace_tracer, hot.trace_span_start, planner)
