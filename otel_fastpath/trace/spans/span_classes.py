"""The classes of spans: combine the hot state with stock's classes, and have the attributes that stock uses.

Code that reads or writes a private attribute of stock's span (`_attributes`, `_events`, `_lock`, ...) finds it here:
stock's container is created on first use and holds the data from then on (see `containers`).
"""

from __future__ import annotations

import inspect
import threading
from abc import ABCMeta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan, _Span
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import NonRecordingSpan

from otel_fastpath.lazy import is_being_made
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined, is_defined_in
from otel_fastpath.patching.swapping.swap import seen_through
from otel_fastpath.trace.spans import containers

if TYPE_CHECKING:
    from collections.abc import Callable


def _freezes() -> bool:
    """Whether an ended span's attributes are immutable: since 1.43, which is assumed if other code hides `Span.end`."""
    end = inspect.unwrap(seen_through(_Span.end))
    return not is_defined_in(_Span, end) or "_immutable" in end.__code__.co_names


_FREEZES = _freezes()
_stock_attributes: Any = ReadableSpan.attributes.fget
_attributes_of_stock = as_defined(ReadableSpan, "attributes")
_stock_events: Any = ReadableSpan.events.fget
_stock_links: Any = ReadableSpan.links.fget
_stock_readable_span: Any = _Span._readable_span
# Functions of the module `recorded` that are methods of both classes.
_METHODS = (
    *("copied_attributes", "copied_events", "stored_attribute"),
    *("publish_attributes", "replace_attribute", "share_containers"),
)


class _StockProperty:
    """A faster form of a property of stock's `ReadableSpan`. Where other code has replaced that one, it is used."""

    def __init__(self, getter: Callable[[Any], Any]) -> None:
        self.__doc__ = getter.__doc__
        self._getter = getter
        self._name = getter.__name__
        self._stocks_own = as_defined(ReadableSpan, self._name)

    def __get__(self, span: Any, owner: type) -> Any:
        if span is None:
            return self
        try:
            current = vars(ReadableSpan)[self._name]
            if current is not self._stocks_own:
                return current.__get__(span, owner)
            span.share_containers()
            return self._getter(span)
        except Exception as error:
            faults.absorb("Span", error)
            return self._getter(span)

    def __set__(self, span: Any, value: Any) -> None:
        raise AttributeError(f"property {self._name!r} of {type(span).__name__!r} object has no setter")


class _FromPlan:
    """An attribute that all spans of a tracer share; it can still be set on a single span."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, span: Any, owner: type) -> Any:
        try:
            return self if span is None else getattr(span.plan, self._name)
        except Exception as error:  # not of the attribute, which exists: of a signal handler, or a lack of memory
            faults.absorb_any("Span", error)
            return getattr(span.plan, self._name)


def _limits_of(span: Any) -> Any:
    """The limits of the span's tracer, or those that were set on the span."""
    try:
        return vars(span).get("_limits", span.plan.limits)
    except Exception as error:
        faults.absorb_any("Span", error)
        return span.plan.limits


class ReadableSpanMethods:
    """The attributes of stock's `ReadableSpan`, with stock's containers created on first use."""

    __slots__ = ()

    @property
    def _instrumentation_info(self) -> Any:
        try:
            return vars(self).get("_instrumentation_info", self.plan.info)
        except Exception as error:
            faults.absorb_any("Span", error)
            return self.plan.info

    @_instrumentation_info.setter
    def _instrumentation_info(self, value: Any) -> None:
        vars(self)["_instrumentation_info"] = value
        # The read-only copy is then made by stock, which passes this value on.
        self._context = self.span_context()

    @property
    def _attributes(self) -> Any:
        try:
            return self._bound_attributes(None) if self.bounded_attributes is None else self.bounded_attributes
        except Exception as error:
            faults.absorb("Span.attributes", error)
            if self.bounded_attributes is None:
                # Not with `copied_attributes`, which may be what failed.
                limits = _limits_of(self)
                self.bounded_attributes = BoundedAttributes(
                    limits.max_span_attributes,
                    dict(self.attribute_store),
                    immutable=_FREEZES and self._end_time is not None,
                    max_value_len=limits.max_span_attribute_length,
                )
            return self.bounded_attributes

    @_attributes.setter
    def _attributes(self, value: Any) -> None:
        self.bounded_attributes = value

    def _bound_attributes(self, attributes: Any) -> Any:
        """Create stock's container with the store's attributes, or with these, which are not cleaned yet."""
        limits = _limits_of(self)
        maximum, longest = limits.max_span_attributes, limits.max_span_attribute_length
        if attributes:
            bounded = BoundedAttributes(maximum, attributes, immutable=False, max_value_len=longest)
        else:
            store = containers.make_stored(self)
            bounded = containers.bounded_around(maximum, store, longest, immutable=False)
            if store is not self.attribute_store and is_being_made():
                # Only for this caller; the span gets its container once the value is made.
                return bounded
        bounded = self.publish_attributes(bounded, bool(attributes))
        if not attributes:
            # Until now, other threads may have set lazy ones.
            containers.make_stored(self)
        bounded._immutable = _FREEZES and self._end_time is not None
        return bounded

    def shown_attributes(self) -> Any:
        """A read-only view of the attributes, for `recorded.attributes_of`."""
        current = vars(ReadableSpan)["attributes"]
        if current is not _attributes_of_stock or not containers.is_container_known():
            return current.__get__(self, type(self))
        self.share_containers()
        try:
            if self.bounded_attributes is not None or not self.attribute_store:
                return MappingProxyType(self.bounded_attributes or {})
            made = containers.LiveAttributes(self) if self._end_time is None else containers.make_stored(self)
            return MappingProxyType(made)
        except Exception as error:
            faults.absorb("Span.attributes", error)
        return _stock_attributes(self)

    @_StockProperty
    def dropped_attributes(self) -> int:
        """How many attributes the limits dropped."""
        return getattr(self.bounded_attributes, "dropped", 0)

    @property
    def _events(self) -> Any:
        try:
            if self.bounded_events is None:
                store = self.copied_events()
                bounded = BoundedList.from_seq(_limits_of(self).max_events, store)
                self.bounded_events = kept = containers.first(self, "events", bounded)
                late = self.copied_events()
                if kept is bounded and len(late) > len(store):
                    # Events that other threads added meanwhile.
                    bounded.extend(late[len(store) :])
        except Exception as error:
            faults.absorb("Span.events", error)
            if self.bounded_events is None:
                # What `copied_events` does, which may be what failed.
                store = tuple(self.event_store or ())
                self.bounded_events = BoundedList.from_seq(_limits_of(self).max_events, store)
        return self.bounded_events

    @_events.setter
    def _events(self, value: Any) -> None:
        self.bounded_events = value

    @_StockProperty
    def events(self) -> tuple[Any, ...]:
        """The events so far."""
        try:
            return self.copied_events() if self.bounded_events is None else tuple(self.bounded_events)
        except Exception as error:
            faults.absorb("Span.events", error)
        return tuple(_stock_events(self))

    @_StockProperty
    def dropped_events(self) -> int:
        """How many events the limit dropped."""
        return getattr(self.bounded_events, "dropped", 0)

    @property
    def _links(self) -> Any:
        try:
            if self.bounded_links is None:
                bounded = BoundedList.from_seq(_limits_of(self).max_links, self.link_store or ())
                self.bounded_links = containers.first(self, "links", bounded)
        except Exception as error:
            faults.absorb("Span.links", error)
            self.bounded_links = BoundedList.from_seq(_limits_of(self).max_links, self.link_store or ())
        return self.bounded_links

    @_links.setter
    def _links(self, value: Any) -> None:
        self.bounded_links = value

    @_StockProperty
    def links(self) -> tuple[Any, ...]:
        """The links so far."""
        try:
            return self.link_store or () if self.bounded_links is None else tuple(self.bounded_links)
        except Exception as error:
            faults.absorb("Span.links", error)
        return tuple(_stock_links(self))

    @_StockProperty
    def dropped_links(self) -> int:
        """How many links the limit dropped."""
        return getattr(self.bounded_links, "dropped", 0)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy and pickle as the read-only span that stock passes to processors."""
        readable: ReadableSpan = _stock_readable_span(self)
        return readable.__reduce_ex__(protocol)


def _get_lock(span: Any) -> Any:
    try:
        if span.lock is None:
            # Reentrant: stock logs and cleans values while holding it, and that code may use this span again.
            span.lock = containers.first(span, "lock", threading.RLock())
    except Exception as error:
        faults.absorb_any("Span", error)
        span.lock = threading.RLock()
    return span.lock


def _end_further(span: Any, measures: bool, announces: bool, sent: int) -> None:
    """Complete the end of the span as stock does, after a fault of ours; nothing is done twice.

    Args:
        span: The span.
        measures: Whether the metric of ended spans is still to be recorded.
        announces: Whether `_on_ending` of the processors is still to be called.
        sent: To how many of the plan's processors the span was sent.
    """
    if measures and span._record_end_metrics is not None:
        span._record_end_metrics()
    if announces:
        span._span_processor._on_ending(span)
    readable = span._readable_span()
    for receiver in span.plan.on_end[sent:]:
        receiver.on_end(readable)


def _drop_surplus(span: Any) -> None:
    """Drop the oldest attributes beyond the limit, which threads can exceed by setting some at the same time."""
    try:
        bounded, dropped = span._attributes, []
        with bounded._lock:
            kept, most = bounded._dict, bounded.maxlen
            for _ in range(0 if most is None else len(kept) - most):
                # Kept until the lock is released: freeing a value may run arbitrary code.
                dropped.append(kept.pop(next(iter(kept))))
                bounded.dropped += 1
        # Creating the container drops and counts surplus events.
        _ = span._events
    except Exception as error:
        # Nothing that was set or added is lost.
        faults.absorb_any("Span", error)


class _CreatesStock(ABCMeta):
    """Of classes whose instances only the fast path can create: `type(span)(...)` elsewhere creates stock's span."""

    _stock: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._stock(*args, **kwargs)


def make_span_class(recorded: Any, records_escape: Any, steps: Any) -> type:
    """Make the class of recording spans, which inherits from stock's `_Span`.

    Args:
        recorded: The module `recorded`.
        records_escape: The function `events.try_record_escape`.
        steps: The module `stock_steps`.
    """

    class FastSpan(recorded.SpanState, ReadableSpanMethods, _Span, metaclass=_CreatesStock):
        """An `opentelemetry.sdk.trace.Span` as the fast path records it."""

        _stock = _Span
        _is_escape_recorded = records_escape
        _limits = _FromPlan("limits")
        _lock = property(_get_lock, lambda span, value: setattr(span, "lock", value))
        _sampler = _FromPlan("sampler")
        _span_processor = _FromPlan("processor")
        _trace_config = None
        # It does nothing: `stock_steps.create` has used the arguments.
        __init__ = object.__init__
        start, _readable_span = steps.start, steps._readable_span
        _end_further, drop_surplus = _end_further, _drop_surplus

    return _complete(_Span, FastSpan, recorded)


def make_readable_class(recorded: Any) -> type:
    """Make the class of read-only copies of spans, which inherits from stock's `ReadableSpan`.

    A copy shares the containers of its span, unless its fields were set since.

    Args:
        recorded: The module `recorded`.
    """

    class FastReadableSpan(recorded.SpanState, ReadableSpanMethods, ReadableSpan, metaclass=_CreatesStock):
        """An `opentelemetry.sdk.trace.ReadableSpan` as the fast path creates it."""

        _stock = ReadableSpan

        def _bound_attributes(self, attributes: Any) -> Any:
            origin = self.origin
            if origin.attribute_store is not self.attribute_store or origin._end_time is None:
                return super()._bound_attributes(attributes)
            self.bounded_attributes = shared = origin._attributes
            return shared

        @property
        def _events(self) -> Any:
            origin = self.origin
            if self.bounded_events is None and origin.event_store is self.event_store and origin._end_time is not None:
                self.bounded_events = origin._events
            return super()._events

        @_events.setter
        def _events(self, value: Any) -> None:
            self.bounded_events = value

        @property
        def _links(self) -> Any:
            if self.bounded_links is None and self.origin._end_time is not None:
                self.bounded_links = self.origin._links
            return super()._links

        @_links.setter
        def _links(self, value: Any) -> None:
            self.bounded_links = value

    return _complete(ReadableSpan, FastReadableSpan, recorded)


def _complete(stock: type, made: Any, recorded: Any) -> type:
    """Give a class what the module `recorded` has for it, and the name that repr() and other code look at."""
    for name in _METHODS:
        setattr(made, name, getattr(recorded, name))
    made.attributes = property(recorded.attributes_of, doc=ReadableSpan.attributes.__doc__)
    made.__name__ = made.__qualname__ = stock.__name__
    return made  # type: ignore[no-any-return]


def make_dropped_class(identity: type) -> type:
    """Make the class of spans that are not recorded, which create their span context on first access."""

    class DroppedSpan(identity, NonRecordingSpan, metaclass=_CreatesStock):
        """An `opentelemetry.trace.NonRecordingSpan` as the fast path creates it."""

        _stock = NonRecordingSpan

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copy and pickle as stock's own class."""
            # Not stock's `__reduce_ex__`: pickle would compare the class that it returns with this one.
            return NonRecordingSpan, (self._context,), self.__dict__ or None

    DroppedSpan.__name__ = DroppedSpan.__qualname__ = NonRecordingSpan.__name__
    return DroppedSpan
