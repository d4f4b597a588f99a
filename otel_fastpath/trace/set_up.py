"""The hot modules of spans, made ready for the settings of this process."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath import compiled

if TYPE_CHECKING:
    from otel_fastpath.settings import Config
    from otel_fastpath.trace.planner import Planner

# What this process put in the place of Tracer.__setattr__: such a tracer's plan goes when its configuration changes.
WATCHERS: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


class Ready(NamedTuple):
    """One implementation of the hot modules, with its classes made.

    Attributes:
        core: "c" or "py".
        methods: `trace.tracer`: what stands in the place of the tracer's methods.
        start: `trace.start`: what they call.
        planner: What works out once what is known of a tracer.
    """

    core: str
    methods: Any
    start: Any
    planner: Planner


def set_up(settings: Config) -> Ready:
    """Make the hot modules ready, whenever a patch that needs them is put in place.

    Args:
        settings: For the plans, which are what the hot code looks at.
    """
    ready = _ready(compiled.implementation()[0])
    ready.planner.settings = settings
    ready.start.configure(ready.planner.make_plan)
    return ready


def forget_plans() -> None:
    """Take the plans off the tracers."""
    _ready(compiled.implementation()[0]).planner.forget()


@functools.cache
def _ready(core: str) -> Ready:
    # They import the SDK: only where it is being patched.
    from otel_fastpath.trace import planner as planning  # noqa: PLC0415  # see above
    from otel_fastpath.trace import span_classes  # noqa: PLC0415  # see above

    hot, plans = compiled.hot("trace.span", core), compiled.hot("trace.plan", core)
    span_class = span_classes.make_span_class(hot.SpanState)
    planner = planning.Planner(
        plans.Plan,
        plans.Batch,
        span_class,
        span_classes.make_dropped_class(compiled.hot("trace.identity", core).Dropped),
        span_classes.make_event_class(compiled.hot("trace.events", core).EventState),
        lambda tracer: type(tracer).__setattr__ in WATCHERS,
    )
    return Ready(core, compiled.hot("trace.tracer", core), compiled.hot("trace.start", core), planner)
