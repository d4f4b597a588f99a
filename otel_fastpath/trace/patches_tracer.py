"""Starting spans: `opentelemetry.sdk.trace.Tracer`.

Stock: 105,000 instructions for start and end, 142,000 as the current span (CPython 3.13, SDK 1.45.1). Here the span is
one object with a dict, started by one flat function; the span itself is queued when it ends.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled, lazy
from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch, ReplacedError, SkipError
from otel_fastpath.patching.sources.guard import check_sources
from otel_fastpath.patching.swapping.swap import seen_through
from otel_fastpath.trace.context import kept_spans
from otel_fastpath.trace.set_up import WATCHERS, forget_names, forget_plans, set_up
from otel_fastpath.trace.stock_sources import (
    CLEANING,
    CONTEXT_MANAGERS,
    LINKS,
    SCOPE,
    SCOPE_KEYS,
    SDK,
    frame_at_yield,
    sources,
    sources_if_any,
    start_by_keyword,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.sdk.trace"
# If one of them is not known, stock's method starts the spans, which it creates as those of the fast path.
_START_SPAN_PARTS: Final = (f"{_MODULE}:Tracer.start_span", f"{_MODULE}:Tracer._is_enabled")
_START_SPAN_RESTS_ON: Final = (
    f"{_MODULE}:ReadableSpan.__init__",
    # Spans have attributes of their own in the place of these properties.
    f"{_MODULE}:ReadableSpan.attributes",
    f"{_MODULE}:ReadableSpan.context",
    f"{_MODULE}:ReadableSpan.dropped_attributes",
    f"{_MODULE}:ReadableSpan.dropped_events",
    f"{_MODULE}:ReadableSpan.dropped_links",
    f"{_MODULE}:ReadableSpan.end_time",
    f"{_MODULE}:ReadableSpan.events",
    f"{_MODULE}:ReadableSpan.get_span_context",
    f"{_MODULE}:ReadableSpan.kind",
    f"{_MODULE}:ReadableSpan.links",
    f"{_MODULE}:ReadableSpan.start_time",
    f"{_MODULE}:Span.__new__",
    f"{_MODULE}:Span.__init__",
    f"{_MODULE}:Span._new_events",
    f"{_MODULE}:Span._new_links",
    f"{_MODULE}:Span.start",
    f"{_MODULE}.sampling:Decision.is_recording",
    f"{_MODULE}.sampling:Decision.is_sampled",
    f"{_MODULE}.sampling:SamplingResult.__init__",
    f"{_MODULE}.sampling:TraceIdRatioBased.bound",
    f"{_MODULE}.sampling:_get_parent_trace_state",
    *LINKS,
    "opentelemetry.sdk.util:BoundedList.from_seq",
    "opentelemetry.sdk.util:BoundedList.__iter__",
    "opentelemetry.sdk.util:BoundedList.__len__",
    "opentelemetry.trace.span:NonRecordingSpan.end",
    "opentelemetry.trace.span:SpanContext.__new__",
    "opentelemetry.trace.span:SpanContext.is_remote",
    "opentelemetry.trace.span:SpanContext.is_valid",
    "opentelemetry.trace.span:SpanContext.span_id",
    "opentelemetry.trace.span:SpanContext.trace_flags",
    "opentelemetry.trace.span:SpanContext.trace_id",
    "opentelemetry.trace.span:SpanContext.trace_state",
    "opentelemetry.trace.span:TraceFlags.sampled",
    "opentelemetry.trace.span:TraceState.__len__",
    "opentelemetry.context.contextvars_context:ContextVarsRuntimeContext.attach",
    "opentelemetry.context.contextvars_context:ContextVarsRuntimeContext.get_current",
    "opentelemetry.context.contextvars_context:ContextVarsRuntimeContext.detach",
    "opentelemetry.attributes:BoundedAttributes.__len__",
)
_START_SPAN_MAY_HAVE: Final = (
    f"{_MODULE}._tracer_metrics:NoOpTracerMetrics.start_span",
    f"{_MODULE}._tracer_metrics:noop",
    "opentelemetry.trace.span:TraceFlags.random_trace_id",
)
# The functions that replaced Tracer.start_span in this process.
_starters: weakref.WeakSet[Any] = weakref.WeakSet()


# How the constructor of spans is given back, if it was replaced.
_give_back: Final[list[Callable[[], None]]] = []


def _forget_plans() -> None:
    while _give_back:
        _give_back.pop()()
    lazy.defer(on=False)
    kept_spans.put(kept_spans.TracerPatch(compiled.implementation()[0]))
    forget_plans()


def _make_setattr(original: Any, _settings: Config) -> Any:
    from otel_fastpath.trace.planning.tracer_planner import PLAN  # noqa: PLC0415  # it imports the SDK: only where it is being patched

    @functools.wraps(original)
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807  # the name of what it replaces
        original(self, name, value)
        # Asked first: CPython would have to make the `__dict__` of a tracer that has no plan.
        if hasattr(self, PLAN):
            vars(self).pop(PLAN, None)

    WATCHERS.add(__setattr__)
    return __setattr__


def _make_start_span(original: Any, settings: Config) -> Any:
    from opentelemetry.sdk.trace import Tracer  # noqa: PLC0415  # only where it is being patched

    ready = set_up(settings)
    try:
        check_sources(sources(*_START_SPAN_PARTS), frozenset())
    except ReplacedError:
        raise
    except SkipError:
        from otel_fastpath.trace import creating  # noqa: PLC0415  # it imports the SDK

        _give_back.append(creating.give_back)
        return creating.leave_start(original, ready)
    ready.planner.leaves_start = False
    lazy.defer(on=True)
    start_span = ready.methods.bind_start_span(original)
    _starters.add(start_span)
    # The wrappers of libraries start their spans with this, and create none that would be dropped.
    kept_spans.put(kept_spans.TracerPatch(ready.core, Tracer, start_span, ready.start.KeptSpans()))
    return start_span


def _make_start_as_current_span(original: Any, settings: Config) -> Any:
    from opentelemetry.sdk.trace import Tracer  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.trace import INVALID_SPAN, use_span  # noqa: PLC0415  # likewise

    methods = set_up(settings).methods
    tracer = SimpleNamespace(start_span=lambda **_: INVALID_SPAN)
    frames = (
        frame_at_yield(_stock_manager(use_span), INVALID_SPAN),
        frame_at_yield(original, tracer, "probe"),
    )
    ours = Tracer.start_span if Tracer.start_span in _starters else None
    stock_use_span = seen_through(use_span)
    return methods.bind_start_as_current_span(original, start_by_keyword, frames, Tracer, ours, stock_use_span)


def _make_get_tracer(original: Any, _settings: Config) -> Any:
    from opentelemetry.sdk.trace import Tracer  # noqa: PLC0415  # only where it is being patched

    if "_tracers" not in original.__code__.co_names:
        raise SkipError("this release makes another tracer each time")
    get = hot.trace_by_name.bind_get(original, Tracer, "_tracers", "_disabled", "_disabled")

    @functools.wraps(original)
    def get_tracer(
        self: Any,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Any = None,
    ) -> Any:
        return get(self, instrumenting_module_name, instrumenting_library_version, schema_url, attributes)

    return get_tracer


def _stock_manager(function: Any) -> Any:
    """The `_agnosticcontextmanager` function itself, also below a replacement of ours."""
    while not inspect.isgeneratorfunction(function.__wrapped__):
        function = function.__wrapped__
    return function


PATCHES: Final = (
    Patch(
        name="tracer.get_tracer",
        target=f"{_MODULE}:TracerProvider.get_tracer",
        why="Asking again for a tracer takes 82,000 instructions, most for a filter of warnings; here one look-up.",
        make=_make_get_tracer,
        requires=SDK,
        sources=sources(f"{_MODULE}:TracerProvider.get_tracer", *SCOPE_KEYS),
        undo=forget_names,
        budgets=("tracer asked for again",),
    ),
    Patch(
        name="tracer.configuration",
        target=f"{_MODULE}:Tracer.__setattr__",
        why="Drops a tracer's plan when its configuration changes, so that it need not be checked for each span.",
        make=_make_setattr,
        requires=SDK,
        budgets=("start_span, after the tracer's configuration was set",),
    ),
    Patch(
        name="tracer.start_span",
        target=f"{_MODULE}:Tracer.start_span",
        why="Starting and ending a span takes 105,000 instructions; here one object and one flat function.",
        make=_make_start_span,
        requires=SDK,
        sources=sources(*_START_SPAN_RESTS_ON) | sources_if_any(*_START_SPAN_MAY_HAVE),
        parts=sources(*_START_SPAN_PARTS) | CLEANING,
        undo=_forget_plans,
        budgets=("start_span",),
    ),
    Patch(
        name="tracer.start_as_current_span",
        target=f"{_MODULE}:Tracer.start_as_current_span",
        why="Two nested generator context managers cost 37,000 instructions a span; here one class.",
        make=_make_start_as_current_span,
        requires=SDK,
        sources=sources(f"{_MODULE}:Tracer.start_as_current_span", "opentelemetry.trace:use_span", *SCOPE),
        decorators=CONTEXT_MANAGERS,
        budgets=("start_as_current_span",),
    ),
)
