"""What stands in the place of `opentelemetry.sdk.trace.Tracer`'s methods. Plain Python; compiled as `tracer_c`."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import SpanKind

from otel_fastpath.patching import faults
from otel_fastpath.trace.scope import Manner, Scope, Switch, filled, is_inert, patching
from otel_fastpath.trace.start import start_span

_INTERNAL = SpanKind.INTERNAL


class TracerScope(Scope):
    """What `Tracer.start_as_current_span` returns: starts its span without a way through the tracer's methods."""

    __slots__ = ()

    def _started(self) -> Any:
        """The span; by the tracer's own method where that is not the function of ours."""
        start = self._start
        manner: Any = self._manner
        if type(start[0]) is manner.tracer_class and manner.methods["start_span"] is manner.ours:
            span = start_span(start)
            if span is not None:
                return span
        return manner.instead(*start)

    def _start_upstreams_way(self) -> Any:
        # Not by way of the tracer's method, which is ours and would fail once more.
        manner: Any = self._manner
        return (manner.instead if manner.ours is None else manner.ours.__wrapped__)(*self._start)


class TracerManner(Manner):
    """What the scopes of `Tracer` have in common.

    Args:
        instead: As in `Manner`.
        frames: Likewise.
        tracer_class: Upstream's `Tracer`.
        ours: The function in the place of its `start_span`, or None where there is none of ours.
    """

    __slots__ = ("methods", "ours", "tracer_class")

    def __init__(self, instead: Any, frames: Any, tracer_class: Any, ours: Any) -> None:
        self.instead = instead
        self.frames = frames
        self.below_proxy = None
        self.tracer_class = tracer_class
        self.methods = None if tracer_class is None else vars(tracer_class)
        self.ours = ours

    def with_frames(self, frames: Any) -> Any:
        """The same with other frames."""
        return TracerManner(self.instead, frames, self.tracer_class, self.ours)


def bind_start_span(original: Any) -> Any:
    """What stands in the place of `Tracer.start_span`."""
    switch = Switch()

    def start(
        self: Any,
        name: Any,
        context: Any = None,
        kind: Any = _INTERNAL,
        attributes: Any = None,
        links: Any = (),
        start_time: Any = None,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
    ) -> Any:
        given = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        try:
            if not is_inert(switch):
                span = start_span(given)
                if span is not None:
                    return span
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
        return original(*given)

    return patching(original, start, switch)


def bind_start_as_current_span(original: Any, instead: Any, frames: Any, tracer_class: Any, ours: Any) -> Any:
    """What stands in the place of `Tracer.start_as_current_span`; the rest is as in `TracerManner`."""
    switch, manner = Switch(), TracerManner(instead, frames, tracer_class, ours)

    def start_as_current_span(
        self: Any,
        name: Any,
        context: Any = None,
        kind: Any = _INTERNAL,
        attributes: Any = None,
        links: Any = (),
        start_time: Any = None,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
        end_on_exit: Any = True,
    ) -> Any:
        start = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        try:
            if not is_inert(switch):
                return filled(TracerScope.__new__(TracerScope), manner, start, end_on_exit)
        except Exception as error:
            faults.absorb("Tracer.start_as_current_span", error)
        return original(*start, end_on_exit)

    return patching(original, start_as_current_span, switch)
