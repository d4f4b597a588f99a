"""Starts the spans of wrapped calls, except those that would be dropped. Compiled as `starting_c`."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace as _trace_api
from opentelemetry.metrics import _internal as _metrics_api
from opentelemetry.trace import ProxyTracer

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults

_trace_globals = vars(_trace_api)
_metrics_globals = vars(_metrics_api)


class WatchedTracers:
    """The SDK's tracers, as `watch_tracer` has set them."""

    __slots__ = ("spans", "starting", "tracer_class")

    def __init__(self, tracer_class: Any, start_span: Any, spans: Any) -> None:
        self.tracer_class = tracer_class
        self.starting = Facts(() if tracer_class is None else ((tracer_class, "start_span", start_span),))
        self.spans = spans


class TracerWatch:
    """Keeps what is watched, which any thread may set."""

    __slots__ = ("tracers",)

    def __init__(self) -> None:
        self.tracers = WatchedTracers(None, None, None)


_watch = TracerWatch()


@critical_section
def _watched(watch: Any) -> Any:
    return watch.tracers


@critical_section
def _watch_others(watch: Any, tracers: Any) -> None:
    watch.tracers = tracers


def watch_tracer(tracer_class: Any, start_span: Any, spans: Any) -> None:
    """Set the `KeptSpans` that starts SDK spans, except those that would be dropped, which a call does not need.

    Args:
        tracer_class: `opentelemetry.sdk.trace.Tracer`; None once its methods are stock's own again.
        start_span: Our replacement for its `start_span`; not called directly if other code has wrapped it.
        spans: A `trace.start.KeptSpans`; None if `tracer_class` is None.
    """
    _watch_others(_watch, WatchedTracers(tracer_class, start_span, spans))


def start(tracer: Any, kind: Any, late: Any) -> Any:
    """Start a span in the current context, as `tracer.start_span` does; its name and attributes are made late."""
    watched = _watched(_watch)
    if type(tracer) is watched.tracer_class and watched.starting.hold():
        try:
            span = watched.spans.start_late(tracer, kind, late)
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
        else:
            if span is not NotImplemented:
                return span
    late.make()
    return tracer.start_span(late.name, None, kind, late.attributes)


def emit(tracer: Any, kind: Any, name: Any, attributes: Any, status: Any) -> bool:
    """Start a span and end it at once, unless it would be dropped; returns whether it was recorded."""
    watched = _watched(_watch)
    if status is None and type(tracer) is watched.tracer_class and watched.starting.hold():
        try:
            span = watched.spans.emit(tracer, name, kind, attributes)
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
            span = NotImplemented
        if span is True:
            return True
        if span is NotImplemented:
            span = _start_by_others(tracer, kind, name, attributes, None)
    else:
        span = start_if_kept(tracer, kind, name, attributes, None)
    if span is None:
        return False
    recording: bool = span.is_recording()
    if status is not None:
        span.set_status(status)
    span.end()
    return recording


def drops_below(tracer: Any, span: Any) -> bool:
    """Whether it is certain that this tracer's spans below this one are dropped."""
    watched = _watched(_watch)
    if type(tracer) is not watched.tracer_class or not watched.starting.hold():
        return False
    return watched.spans.drops_below(tracer, span)  # type: ignore[no-any-return]  # see `Spans`


def drops(tracer: Any) -> bool:
    """Whether it is certain that a span of this tracer, started now, would be neither recorded nor propagated."""
    watched = _watched(_watch)
    if type(tracer) is watched.tracer_class and watched.starting.hold():
        return watched.spans.drops(tracer)  # type: ignore[no-any-return]  # see `Spans`
    return _has_no_sdk(tracer)


def _has_no_sdk(tracer: Any) -> bool:
    """Whether the tracer waits for a provider that is not set."""
    return type(tracer) is ProxyTracer and _trace_globals["_TRACER_PROVIDER"] is None and tracer._real_tracer is None


def is_recording(span: Any) -> bool:
    """What `span.is_recording()` returns."""
    spans = _watched(_watch).spans
    return span.is_recording() if spans is None else spans.is_recording(span)  # type: ignore[no-any-return]  # likewise


def end_span(span: Any, place: str) -> None:
    """End a span; an error is reported under this place."""
    try:
        span.end()
    except BaseException as error:
        try:
            faults.absorb_any(place, error)
        except BaseException:
            # It may have arrived before the span had ended.
            if span.is_recording():
                span.end()
            raise


def start_if_kept(tracer: Any, kind: Any, name: Any, attributes: Any, start_ns: Any) -> Any:
    """Start a span, or return None if it would be neither recorded nor propagated.

    Without an SDK, or if the sampler would certainly drop the span, the current span stays current: the children of the
    dropped span would not be recorded either.
    """
    watched = _watched(_watch)
    if type(tracer) is watched.tracer_class and watched.starting.hold():
        try:
            span = watched.spans.start(tracer, name, kind, attributes, start_ns)
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
        else:
            if span is not NotImplemented:
                return span
    elif _has_no_sdk(tracer):
        return None
    return _start_by_others(tracer, kind, name, attributes, start_ns)


def _start_by_others(tracer: Any, kind: Any, name: Any, attributes: Any, start_ns: Any) -> Any:
    """Start a span with a method that may be other code's: it may add to the attributes, which many calls have."""
    return tracer.start_span(name, None, kind, None if attributes is None else {**attributes}, (), start_ns)


def metered(has_meter: Any, series: Any) -> Any:
    """The series, if there is a meter provider that records it."""
    return None if not has_meter and _metrics_globals["_METER_PROVIDER"] is None else series
