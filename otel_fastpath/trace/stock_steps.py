"""Creating, starting and copying spans of the fast path for stock's code. Plain Python; compiled as `stock_steps_c`.

Where the source of `Tracer.start_span` or `Span.end` is not known, stock's method runs. The former finds the parent,
asks the sampler and draws the ids; the `_Span` that it creates is one of the fast path, if it has the tracer's parts.
"""

from __future__ import annotations

import threading
from types import MappingProxyType
from typing import TYPE_CHECKING

from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace import _Span
from opentelemetry.trace import SpanContext, SpanKind

from otel_fastpath.compiled.helpers import item, new_instance, read_clock
from otel_fastpath.patching import faults
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.span_start import _start_span, plan_of
from otel_fastpath.trace.spans.identity import INVALID
from otel_fastpath.trace.spans.recorded import SpanState, read_only_copy
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Tracer
    from opentelemetry.trace import Link
    from opentelemetry.util import types

    from otel_fastpath.trace.planning import plan as plans


_MODULE = "opentelemetry.sdk.trace"
_INTERNAL = SpanKind.INTERNAL
_sdk_globals = vars(_sdk_trace)
_copies = are_known(sources(f"{_MODULE}:Span._readable_span", f"{_MODULE}:ReadableSpan.__init__"))
# Of each thread: the plan of the tracer whose `start_span` runs.
_starting = threading.local()


def bind_start_span(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `Tracer.start_span`, which calls it."""
    switch = Switch()

    def start_span(
        self: Tracer,
        name: str,
        context: Context | None = None,
        kind: SpanKind = _INTERNAL,
        attributes: types.Attributes = None,
        links: Sequence[Link] | None = (),
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> object:
        outer = getattr(_starting, "plan", None)
        try:
            try:
                _starting.plan = None if switch.inert else plan_of(self)
            except Exception as error:
                faults.absorb("Tracer.start_span", error)
            return original(
                self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
            )
        finally:
            _starting.plan = outer

    return make_switchable(original, start_span, switch)


def bind_new(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `Span.__new__`, whose arguments are those that stock's `start_span` gives to `_Span`.

    The original, whose source is known, does not use them.
    """
    switch = Switch()

    def __new__(  # noqa: N807  # the name of what it replaces
        cls: type,
        *args: object,
        name: str = "",
        context: SpanContext | None = None,
        parent: SpanContext | None = None,
        sampler: object = None,
        resource: object = None,
        attributes: types.Attributes = None,
        span_processor: object = None,
        kind: SpanKind = _INTERNAL,
        links: Sequence[Link] = (),
        instrumentation_info: object = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        limits: object = None,
        instrumentation_scope: object = None,
        record_end_metrics: Callable[[], None] | None = None,
        **more: object,
    ) -> object:
        span = None
        try:
            plan = getattr(_starting, "plan", None)
            if plan is not None and cls is _Span and not (args or more or switch.inert):
                parts = sampler, resource, span_processor, instrumentation_info, limits, instrumentation_scope
                given = None, name, None, kind, None, links, 0, record_exception, set_status_on_exception
                span = _create(plan, parts, given, context, attributes, parent, record_end_metrics)
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
        return original(cls) if span is None else span

    return make_switchable(original, __new__, switch)


def _create(
    plan: plans.TracerPlan,
    parts: tuple[object, ...],
    given: tuple[Any, ...],
    context: SpanContext | None,
    attributes: types.Attributes,
    parent: SpanContext | None,
    metrics: Callable[[], None] | None,
) -> SpanState | None:
    """Create a span without starting it; None if stock must do it. The plan leaves `on_start` to stock."""
    if not (
        parts[0] is plan.sampler
        and parts[1] is plan.resource
        and parts[2] is plan.processor
        and parts[3] is plan.info
        and parts[4] is plan.limits
        and parts[5] is plan.scope
        and type(context) is SpanContext
        and item(context, 5)
        and item(context, 3) < INVALID  # type: ignore[operator]  # item 3 is the flags
        and (type(attributes) is MappingProxyType or type(attributes) is dict)
        and plan.starting.hold()
    ):
        return None
    span = new_instance(plan.span_class)  # type: ignore[var-annotated]  # a `SpanState`
    span.trace, span.drawn, span.made_context = item(context, 0), item(context, 1), context
    span.trace_flags, span.trace_state = item(context, 3), item(context, 4)
    _start_span(span, plan, given, attributes, None, parent, metrics)
    span._start_time = None
    return span  # type: ignore[no-any-return]  # likewise


def start(span: SpanState, start_time: int | None = None, parent_context: Context | None = None) -> None:
    """As `Span.start`, without the lock of a span that nobody has seen."""
    is_started = False
    try:
        is_started = _try_start(span, start_time)
    except Exception as error:
        faults.absorb("Span.start", error)
    if is_started:
        span.plan.processor.on_start(span, parent_context=parent_context)  # type: ignore[arg-type]  # a `_Span` by its class
    else:
        _Span.start(span, start_time, parent_context)  # type: ignore[arg-type]  # likewise


def _try_start(span: SpanState, start_time: int | None) -> bool:
    """Set the start time; False if stock's method must do it."""
    plan = span.plan
    if span._start_time is not None or span.lock is not None or not plan.starting.hold():
        return False
    span._start_time = read_clock(_sdk_globals) if start_time is None else start_time
    return True


def _readable_span(span: SpanState) -> ReadableSpan:
    """As `Span._readable_span`; of an ended span, a copy as the fast path makes it."""
    try:
        if _copies and _is_ended_as_planned(span):
            return read_only_copy(span, span.plan.read_only_class)  # type: ignore[return-value]  # likewise
    except Exception as error:
        faults.absorb("Span.end", error)
    return _Span._readable_span(span)  # type: ignore[arg-type]  # likewise


def _is_ended_as_planned(span: SpanState) -> bool:
    plan = span.plan
    return span._end_time is not None and plan.ending.hold()
