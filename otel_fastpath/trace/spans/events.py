"""The events of a span, exceptions among them. Plain Python; compiled as `events_c` with the types of its `.pxd`.

As in `span`, all but the common cases are left to stock's own method, and nothing is done twice.
"""

from __future__ import annotations

import traceback
from sys import maxsize
from typing import TYPE_CHECKING

from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace import Span as _StockSpan

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import new_instance, read_clock
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.spans.attributes import LEAVE, clean_mapping, made
from otel_fastpath.trace.spans.recorded import SpanState
from otel_fastpath.trace.stack_traces import is_standard, record_under, snapshot, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import Span
    from opentelemetry.util import types

    from otel_fastpath.trace.spans.recorded import EventState
    from otel_fastpath.trace.stack_traces import Frame


_sdk_globals = vars(_sdk_trace)
_keeping = Facts([(_StockSpan, "_add_event", as_defined(_StockSpan, "_add_event"))])
# The replacements that are made below, to see whether other code has replaced them since.
_adding = Facts([(_StockSpan, "add_event", None)])
_recording = Facts([(_StockSpan, "record_exception", None)])


def bind_add_event(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.add_event`."""
    switch = Switch()

    def add_event(self: Span, name: str, attributes: types.Attributes = None, timestamp: int | None = None) -> None:
        try:
            if isinstance(self, SpanState) and not switch.inert:
                if _try_add(self, name, attributes, timestamp):
                    return
                attributes = made(attributes, self._end_time is None)
        except Exception as error:
            faults.absorb("Span.add_event", error)
        original(self, name, attributes, timestamp)

    replacement = make_switchable(original, add_event, switch)
    _adding.renew([(_StockSpan, "add_event", replacement)])
    return replacement


def _try_add(span: SpanState, name: str, attributes: types.Attributes, timestamp: int | None) -> bool:
    """Add an event; False if stock's method must do it."""
    state = _adds(span)
    if state < 0:
        return False
    plan = span.plan
    kept: dict[str, object] = {}
    if attributes:
        room = plan.max_event_attributes if state else -1
        kept = clean_mapping(attributes, plan.max_event_value, plan.clean, room)
    return kept is not LEAVE and _keep_event(span, name, kept, timestamp)


def _keep_event(span: SpanState, name: str, kept: dict[str, object], timestamp: int | None) -> bool:
    """Add an event with these attributes; False if stock's method must do it."""
    plan = span.plan
    if not _keeping.hold():
        return False
    event = new_instance(plan.event_class)  # type: ignore[var-annotated]  # an `EventState`
    event._name = name
    event._timestamp = read_clock(_sdk_globals) if timestamp is None else timestamp
    event.attribute_store = kept
    event.bounded_attributes = None
    event.limits = plan.limits
    return len(kept) <= plan.max_event_attributes and _append(span, event)


@critical_section
def _append(span: SpanState, event: EventState) -> bool:
    """Add the event; False if stock's method must do it."""
    if span._end_time is not None or span.bounded_events is not None:
        return False
    events = span.event_store
    if events is None:
        events = span.event_store = []
    if len(events) >= span.plan.max_events:
        return False
    events.append(event)
    return True


@critical_section
def _adds(span: SpanState) -> int:
    """Whether an event can be added without stock's method: 1 if so, 0 if there is no room, -1 if not at all."""
    if span._end_time is not None or span.bounded_events is not None:
        return -1
    events = span.event_store
    return 1 if not events or len(events) < span.plan.max_events else 0


def bind_record_exception(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.record_exception`. It formats the stack trace when it is read."""
    switch = Switch()

    def record_exception(
        self: Span,
        exception: BaseException,
        attributes: types.Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        described = None
        try:
            if isinstance(self, SpanState) and not switch.inert:
                kept = _exception_attributes(self, exception, attributes, escaped, ())
                if kept is not LEAVE and _keep_event(self, "exception", kept, timestamp):
                    return
                attributes = made(attributes, self._end_time is None)
                is_plain = isinstance(exception, BaseException) and _sdk_globals["traceback"] is traceback
                if is_plain and not _adding.hold() and is_standard():
                    # Another `add_event` is called as stock calls it.
                    described = _describe(exception, text(exception), escaped)
                    described.update(attributes or {})
        except Exception as error:
            faults.absorb("Span.record_exception", error)
        if described is None:
            original(self, exception, attributes, timestamp, escaped)
        else:
            self.add_event(name="exception", attributes=described, timestamp=timestamp)

    replacement = make_switchable(original, record_exception, switch)
    _recording.renew([(_StockSpan, "record_exception", replacement)])
    return replacement


def try_record_escape(span: SpanState, exception: BaseException, frames: tuple[Frame, ...]) -> bool:
    """Record an exception that leaves the span's scope; its stack trace shows these frames before its own.

    Returns:
        False if the span's `record_exception` must do it.
    """
    try:
        if _recording.hold() and "record_exception" not in span.__dict__:
            kept = _exception_attributes(span, exception, None, False, frames)  # noqa: FBT003  # positional for C
            return kept is not LEAVE and _keep_event(span, "exception", kept, None)
    except Exception as error:
        faults.absorb("Span.record_exception", error)
        # Not through the span's method, which is our function and would fail again.
        record_under(_recording.items[0][2].__wrapped__, exception, frames, span, exception)  # type: ignore[attr-defined]  # made by `patching`
        return True
    return False


def _describe(exception: BaseException, stack: object, escaped: bool) -> dict[str, object]:
    kind = type(exception)
    module = kind.__module__
    return {
        "exception.type": f"{module}.{kind.__qualname__}" if module and module != "builtins" else kind.__qualname__,
        "exception.message": faults.text_of(exception),
        "exception.stacktrace": stack,
        "exception.escaped": str(escaped),
    }


def _exception_attributes(
    span: SpanState, exception: BaseException, attributes: types.Attributes, escaped: bool, frames: tuple[Frame, ...]
) -> dict[str, object]:
    """The attributes of an exception's event, or `LEAVE` if stock's method must make them."""
    plan = span.plan
    state = _adds(span)
    if (
        state < 0
        or plan.max_event_value != maxsize
        or not isinstance(exception, BaseException)
        or not _adding.hold()
        or "add_event" in span.__dict__
        or _sdk_globals["traceback"] is not traceback
        or not is_standard()
    ):
        return LEAVE
    kept = _describe(exception, snapshot(exception, frames), escaped)
    if attributes:
        # After the exception's own methods, as in stock: cleaning may log, and they may raise.
        room = plan.max_event_attributes - 4 if state else -1
        extra = clean_mapping(attributes, maxsize, plan.clean, room)
        if extra is LEAVE:
            return LEAVE
        kept.update(extra)
    return kept
