"""What a span records, and its read-only copy. Plain Python; compiled as `recorded_c` with the types of its `.pxd`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import copied, get_item, has_no_fields, new_instance
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.lazy import DROPPED, Lazy
from otel_fastpath.patching import faults
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.stock import UNKNOWN, as_defined, watched
from otel_fastpath.trace.spans.identity import Dropped, Identity
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, SpanLimits
    from opentelemetry.sdk.util import BoundedList
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext, SpanKind
    from opentelemetry.trace.status import Status

    from otel_fastpath.trace.planning import plan as plans


_stock_attributes: Callable[[object], object] = ReadableSpan.attributes.fget  # type: ignore[attr-defined]  # a property
# In the place of the container around what is shown.
_CONTAINER = ("__getitem__", "__iter__", "__len__")
_showing = Facts(
    [
        (ReadableSpan, "attributes", as_defined(ReadableSpan, "attributes")),
        *watched(BoundedAttributes, *_CONTAINER),
    ]
    if are_known(sources(*(f"opentelemetry.attributes:BoundedAttributes.{name}" for name in _CONTAINER)))
    else UNKNOWN
)
# A span with room for more attributes than a hook sets keeps each of them until the last is set.
_ROOM = 32


class EventState:
    """The recorded part of an event. Combined with `opentelemetry.sdk.trace.Event` in `span_classes`."""

    __slots__ = ("_name", "_timestamp", "attribute_store", "bounded_attributes", "limits")
    _name: str
    _timestamp: int
    attribute_store: dict[str, object]
    bounded_attributes: BoundedAttributes | None
    limits: SpanLimits


class SpanState(Identity):
    """The recorded part of a span, or of its read-only copy. Combined with stock's classes in `span_classes`.

    A `bounded_*` attribute is None until stock's own container is needed, which then holds the data of the store.
    `lock` is None until stock's own code is called, which holds it from checking the end time until its change.
    `origin` is None; of a copy, it is the span. The two share the containers, also those that are created later.
    """

    __slots__ = (
        "_end_time",
        "_instrumentation_scope",
        "_kind",
        "_name",
        "_parent",
        "_record_end_metrics",
        "_record_exception",
        "_resource",
        "_set_status_on_exception",
        "_start_time",
        "_status",
        "attribute_store",
        "bounded_attributes",
        "bounded_events",
        "bounded_links",
        "event_store",
        "link_store",
        "lock",
        "origin",
        "plan",
    )
    _end_time: int | None
    _instrumentation_scope: InstrumentationScope
    _kind: SpanKind
    _name: str
    _parent: SpanContext | None
    _record_end_metrics: Callable[[], None] | None
    _record_exception: bool
    _resource: Resource
    _set_status_on_exception: bool
    _start_time: int | None
    _status: Status
    attribute_store: dict[str, object]
    bounded_attributes: BoundedAttributes | None
    bounded_events: BoundedList[Event] | None
    bounded_links: BoundedList[Link] | None
    event_store: list[EventState] | None
    link_store: tuple[Link, ...] | None
    lock: AbstractContextManager[object] | None
    origin: SpanState | None
    plan: plans.TracerPlan


@critical_section
def read_only_copy(span: SpanState, kind: type[SpanState]) -> SpanState:
    """The span as it is now, as an instance of this class."""
    copy = new_instance(kind)
    copy.origin = span
    copy.trace, copy.drawn, copy.made_context = span.trace, span.drawn, span.made_context
    copy.trace_flags, copy.trace_state, copy.plan = span.trace_flags, span.trace_state, span.plan
    copy._name, copy._kind, copy._parent, copy._status = span._name, span._kind, span._parent, span._status
    copy._start_time, copy._end_time = span._start_time, span._end_time
    copy._resource, copy._instrumentation_scope = span._resource, span._instrumentation_scope
    copy.attribute_store, copy.bounded_attributes = span.attribute_store, span.bounded_attributes
    copy.event_store, copy.bounded_events = span.event_store, span.bounded_events
    copy.link_store, copy.bounded_links = span.link_store, span.bounded_links
    return copy


def share_containers(span: SpanState) -> None:
    """Give a copy the containers that its span has got since; they hold the same data."""
    if span.origin is not None:
        _share(span, span.origin)


@critical_section
def _share(copy: SpanState, origin: SpanState) -> None:
    # The other span is looked at in a section of its own; what it has then, it keeps.
    if copy.bounded_attributes is None:
        copy.bounded_attributes = _bounded_attributes(origin, copy.attribute_store)
    if copy.bounded_events is None:
        copy.bounded_events = _bounded_events(origin, copy.event_store)
    if copy.bounded_links is None:
        copy.bounded_links = _bounded_links(origin)


@critical_section
def _bounded_attributes(span: SpanState, store: dict[str, object]) -> BoundedAttributes | None:
    return span.bounded_attributes if span.attribute_store is store else None


@critical_section
def _bounded_events(span: SpanState, store: list[EventState] | None) -> BoundedList[Event] | None:
    return span.bounded_events if span.event_store is store else None


@critical_section
def _bounded_links(span: SpanState) -> BoundedList[Link] | None:
    return span.bounded_links


def attributes_of(span: SpanState) -> object:
    """The attributes of a span, as `ReadableSpan.attributes` shows them."""
    try:
        shown = _shown(span)
    except Exception as error:
        faults.absorb("Span.attributes", error)
        shown = _stock_attributes(span)
    return shown


@critical_section
def _final_store(span: SpanState) -> dict[str, object] | None:
    """The attributes of a span that has ended, unless stock's container has them."""
    return span.attribute_store if span._end_time is not None and span.bounded_attributes is None else None


@critical_section
def copied_attributes(span: SpanState) -> dict[str, object]:
    """A copy of the attributes that are stored now."""
    return copied(span.attribute_store)


@critical_section
def copied_events(span: SpanState) -> tuple[EventState, ...]:
    """The events that are stored now."""
    return tuple(span.event_store or ())


@critical_section
def stored_attribute(span: SpanState, key: str) -> object:
    """The value that is stored under the key now.

    Raises:
        KeyError: There is none.
    """
    return span.attribute_store[key]


@critical_section
def replace_attribute(span: SpanState, key: str, value: object, made: object) -> None:
    """Store another value under the key, or `DROPPED`: nothing; unless the key has got a new value meanwhile."""
    store = span.attribute_store
    if get_item(store, key) is not value:
        return
    if made is DROPPED:
        del store[key]
    else:
        store[key] = made


@critical_section
def publish_attributes(span: SpanState, bounded: Any, is_filled: bool) -> Any:
    """Give the span stock's container, unless it has one; return the one that it has."""
    if span.bounded_attributes is None:
        if not is_filled:
            # The store may have been replaced since the container was made around it.
            bounded._dict = span.attribute_store
        span.bounded_attributes = bounded
    return span.bounded_attributes


def _shown(span: SpanState) -> object:
    share_containers(span)
    store = _final_store(span) if _showing.hold() else None
    if store is not None:
        for value in store.values():
            if isinstance(value, Lazy):
                break
        else:
            return MappingProxyType(store)
    return span.shown_attributes()  # type: ignore[attr-defined]  # of the class that `span_classes` makes


def keeps_all(span: Any) -> bool:
    """Whether it records, and several attributes that are set in one go are those that are set one by one."""
    if not isinstance(span, SpanState):
        return False
    own = span
    return own._end_time is None and own.plan.max_attributes >= _ROOM and has_no_fields(own)


def is_silent(span: Any) -> bool:
    """Whether it records nothing."""
    return isinstance(span, Dropped) or type(span) is NonRecordingSpan
