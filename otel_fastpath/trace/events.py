"""The events of a span, exceptions among them. Plain Python; compiled as `events_c` with the types of its `.pxd`.

As in `span`, all but the common cases are left to upstream's own method, and nothing is done twice.
"""

from __future__ import annotations

import traceback
from sys import maxsize, version_info
from typing import TYPE_CHECKING

from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace import Span as _StockSpan

from otel_fastpath.compiled.helpers import new_instance, read_clock
from otel_fastpath.patching import faults
from otel_fastpath.trace.attributes import LEAVE, clean_mapping, made
from otel_fastpath.trace.identity import Identity
from otel_fastpath.trace.stack_traces import is_standard, snapshot, under

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.attributes import BoundedAttributes
    from opentelemetry.sdk.trace import Event, SpanLimits
    from opentelemetry.sdk.util import BoundedList
    from opentelemetry.util import types

    from otel_fastpath.trace import plan as plans
    from otel_fastpath.trace.stack_traces import Frame


_LEN_IS_A_CALL = version_info < (3, 11)
_sdk_globals = vars(_sdk_trace)
_stock_add_event: Callable[..., None] = _StockSpan.add_event
_stock_record_exception: Callable[..., None] = _StockSpan.record_exception


class EventState:
    """The recorded part of an event. Combined with `opentelemetry.sdk.trace.Event` in `span_classes`."""

    __slots__ = ("_name", "_timestamp", "attribute_store", "bounded_attributes", "limits")
    _name: str
    _timestamp: int
    attribute_store: dict[str, object]
    bounded_attributes: BoundedAttributes | None
    limits: SpanLimits


class EventsState(Identity):
    """The events of a span: the base class of `span.SpanState`, which describes the attributes."""

    __slots__ = ("_end_time", "bounded_events", "event_store", "plan")
    _end_time: int | None
    bounded_events: BoundedList[Event] | None
    event_store: list[EventState] | None
    plan: plans.Plan

    def add_event(self, name: str, attributes: types.Attributes = None, timestamp: int | None = None) -> None:
        """Add an event, as `opentelemetry.sdk.trace.Span.add_event` does."""
        try:
            if self._end_time is None and self.bounded_events is None:
                plan = self.plan
                events = self.event_store
                if attributes:
                    kept = clean_mapping(
                        attributes,
                        plan.max_event_value,
                        plan.clean,
                        plan.max_event_attributes if not events or len(events) < plan.max_events else -1,
                    )
                else:
                    kept = {}
                if kept is not LEAVE and self._keep_event(name, kept, timestamp):
                    return
        except Exception as error:
            faults.absorb("Span.add_event", error)
        try:
            attributes = made(attributes, self._end_time is None)
        except Exception as error:
            faults.absorb("Span.add_event", error)
        _stock_add_event(self, name, attributes, timestamp)

    def _keep_event(self, name: str, kept: dict[str, object], timestamp: int | None) -> bool:
        """Add an event with these attributes; False if a limit is reached or the span has ended."""
        plan = self.plan
        event = new_instance(plan.event_class)  # type: ignore[var-annotated]  # an `EventState`
        event._name = name
        event._timestamp = read_clock(_sdk_globals) if timestamp is None else timestamp
        event.attribute_store = kept
        event.bounded_attributes = None
        event.limits = plan.limits
        events = self.event_store
        if events is None:
            events = self.event_store = []
        room = len(events) < plan.max_events and len(kept) <= plan.max_event_attributes
        if room and self._end_time is None and self.bounded_events is None:
            events.append(event)
            if _LEN_IS_A_CALL:
                try:
                    if len(events) > plan.max_events:
                        self.drop_surplus()  # type: ignore[attr-defined]  # of the class that `span_classes` makes
                except Exception as error:
                    faults.report("Span.add_event", error)
            return True
        return False

    def record_exception(
        self,
        exception: BaseException,
        attributes: types.Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Record an exception as an event, as `opentelemetry.sdk.trace.Span.record_exception` does.

        The stack trace is formatted when it is read.
        """
        try:
            kept = self._exception_attributes(exception, attributes, escaped, ())
            if kept is not LEAVE and self._keep_event("exception", kept, timestamp):
                return
        except Exception as error:
            faults.absorb("Span.record_exception", error)
        try:
            attributes = made(attributes, self._end_time is None)
        except Exception as error:
            faults.absorb("Span.record_exception", error)
        _stock_record_exception(self, exception, attributes, timestamp, escaped)

    def _record_escaping(self, exception: BaseException, frames: tuple[Frame, ...]) -> None:
        """Record an exception that leaves the span's scope; its stack trace shows these frames before its own."""
        try:
            kept = self._exception_attributes(exception, None, False, frames)  # noqa: FBT003  # positional for C
            if kept is not LEAVE and self._keep_event("exception", kept, None):
                return
        except Exception as error:
            faults.absorb("Span.record_exception", error)
        own = exception.__traceback__
        try:
            exception.__traceback__ = under(own, frames)
        except Exception as error:
            faults.report("Span.record_exception", error)
        try:
            _stock_record_exception(self, exception)
        finally:
            exception.__traceback__ = own

    def _exception_attributes(
        self, exception: BaseException, attributes: types.Attributes, escaped: bool, frames: tuple[Frame, ...]
    ) -> dict[str, object]:
        plan = self.plan
        if (
            self._end_time is not None
            or self.bounded_events is not None
            or plan.max_event_value != maxsize
            or not isinstance(exception, BaseException)
            or _sdk_globals["traceback"] is not traceback
            or not is_standard()
        ):
            return LEAVE
        extra = None
        if attributes:
            events = self.event_store
            room = plan.max_event_attributes - 4 if not events or len(events) < plan.max_events else -1
            extra = clean_mapping(attributes, maxsize, plan.clean, room)
            if extra is LEAVE:
                return LEAVE
        kind = type(exception)
        module = kind.__module__
        stack = snapshot(exception, frames)
        kept: dict[str, object] = {
            "exception.type": f"{module}.{kind.__qualname__}" if module and module != "builtins" else kind.__qualname__,
            "exception.message": str(exception),
            "exception.stacktrace": stack,
            "exception.escaped": str(escaped),
        }
        if extra is not None:
            kept.update(extra)
        return kept
