"""Replacements for the methods of `opentelemetry.sdk.trace.Tracer`. Plain Python; compiled as `tracer_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_span import is_known_use_span
from otel_fastpath.trace.context.scope import OpenScope, ScopeKind, fill
from otel_fastpath.trace.span_start import start_span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Tracer
    from opentelemetry.trace import Link, Span
    from opentelemetry.util import types

    from otel_fastpath.trace.stack_traces import Frame

    _Links = Sequence[Link] | None


_INTERNAL = SpanKind.INTERNAL


class TracerScope(OpenScope):
    """What `Tracer.start_as_current_span` returns: starts its span without calling the tracer's methods."""

    __slots__ = ()

    def _start_span(self) -> Span:
        """Start the span; through the tracer's own method if that is not our function."""
        start = self._start
        manner: TracerManner = self._manner  # type: ignore[assignment]  # as it was made
        if type(start[0]) is manner.tracer_class and manner.ours is not None and manner.starting.hold():
            span = start_span(start)  # type: ignore[arg-type]  # given by `start_as_current_span` below
            if span is not None:
                return span  # type: ignore[return-value]  # a span
        return manner.instead(*start)  # type: ignore[misc]  # there is one for a tracer

    def _start_as_stock(self) -> Span:
        # Not through the tracer's method, which is our function and would fail again.
        manner: TracerManner = self._manner  # type: ignore[assignment]  # as it was made
        return (manner.instead if manner.ours is None else manner.ours.__wrapped__)(*self._start)  # type: ignore[attr-defined, misc]  # likewise; made by `patching`


class TracerManner(ScopeKind):
    """What all scopes of `Tracer` have in common.

    Args:
        instead: As in `ScopeKind`.
        frames: Likewise.
        tracer_class: Stock's `Tracer`.
        ours: Our replacement for its `start_span`, or None if there is none.
    """

    __slots__ = ("ours", "starting", "tracer_class")

    def __init__(
        self,
        instead: Callable[..., Span],
        frames: tuple[Frame, ...],
        tracer_class: type,
        ours: Callable[..., Span] | None,
    ) -> None:
        self.instead = instead
        self.frames = frames
        self.scope_class = TracerScope
        self.below_proxy = None
        self.tracer_class = tracer_class
        self.starting = Facts([(tracer_class, "start_span", ours)])
        self.ours = ours

    def with_frames(self, frames: tuple[Frame, ...]) -> TracerManner:
        """The same with other frames."""
        return TracerManner(self.instead, frames, self.tracer_class, self.ours)  # type: ignore[arg-type]  # there is one for a tracer


def bind_start_span(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `Tracer.start_span`."""
    switch = Switch()

    def start(
        self: Tracer,
        name: str,
        context: Context | None = None,
        kind: SpanKind = _INTERNAL,
        attributes: types.Attributes = None,
        links: _Links = (),
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> object:
        given = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        try:
            if not switch.inert:
                span = start_span(given)
                if span is not None:
                    return span
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
        return original(*given)

    return make_switchable(original, start, switch)


def bind_start_as_current_span(
    original: Callable[..., object],
    instead: Callable[..., Span],
    frames: tuple[Frame, ...],
    tracer_class: type,
    ours: Callable[..., Span] | None,
    stock_use_span: object,
) -> Callable[..., object]:
    """Make the replacement for `Tracer.start_as_current_span`; `TracerManner` describes most arguments.

    `stock_use_span` is stock's `use_span`. If other code has replaced it, stock's method calls the replacement.
    """
    switch, manner = Switch(), TracerManner(instead, frames, tracer_class, ours)

    def start_as_current_span(
        self: Tracer,
        name: str,
        context: Context | None = None,
        kind: SpanKind = _INTERNAL,
        attributes: types.Attributes = None,
        links: _Links = (),
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> object:
        start = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        try:
            if not switch.inert and is_known_use_span(stock_use_span):
                return fill(TracerScope.__new__(TracerScope), manner, start, end_on_exit)
        except Exception as error:
            faults.absorb("Tracer.start_as_current_span", error)
        return original(*start, end_on_exit)

    return make_switchable(original, start_as_current_span, switch)
