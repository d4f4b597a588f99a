"""The recording span: combines the hot state with upstream's `_Span`, and has the attributes that upstream uses.

Code that reads or writes a private attribute of upstream's span (`_attributes`, `_events`, `_lock`, ...) finds it here:
upstream's container is created on first use and holds the data from then on. No lock is needed: threads, signal
handlers and finalizers that do so at the same time create one each, and the first one stored is used, see `_first`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from sys import maxsize
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan, _Span
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import NonRecordingSpan

from otel_fastpath.lazy import DROPPED, UNMADE, Lazy, is_being_made
from otel_fastpath.patching import faults
from otel_fastpath.trace.read_only_spans import read_only

if TYPE_CHECKING:
    from collections.abc import Iterator

# Since 1.43 an ended span's attributes are immutable.
_FREEZES = "_immutable" in _Span.end.__code__.co_names
_stock_attributes: Any = ReadableSpan.attributes.fget
_stock_events: Any = ReadableSpan.events.fget
_stock_links: Any = ReadableSpan.links.fget
_stock_readable_span: Any = _Span._readable_span


class _FromPlan:
    """An attribute that all spans of a tracer share; it can still be set on a single span."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, span: Any, owner: type) -> Any:
        try:
            return self if span is None else getattr(span.plan, self._name)
        except Exception as error:
            # The attribute exists: the error comes from elsewhere, such as a signal handler or a lack of memory.
            faults.report("Span", error)
            return getattr(span.plan, self._name)


def _first(holder: Any, name: str, made: Any) -> Any:
    """Store the value under this name, unless one was stored before, and return the stored one. Atomic."""
    return vars(holder).setdefault(f"_otel_fastpath_{name}", made)


def _resolved(store: dict[str, Any]) -> dict[str, Any]:
    """The store with every lazy value made; a copy if one of them is `UNMADE`, because its own function is asking."""
    copy = None
    for key, value in tuple(store.items()):
        if not isinstance(value, Lazy):
            continue
        made = value.value()
        if made is UNMADE:
            copy = copy or {}
            copy[key] = made
        elif store.get(key) is not value:
            # The attribute was meanwhile set again or dropped.
            continue
        elif made is DROPPED:
            store.pop(key, None)
        else:
            store[key] = made
    return store if copy is None else {**store, **copy}


class _LiveAttributes(Mapping[str, Any]):
    """The attributes of a span that has not ended. Like upstream's container, they may be set during an iteration."""

    __slots__ = ("_span",)

    def __init__(self, span: Any) -> None:
        self._span = span

    def _now(self) -> Any:
        span = self._span
        return span.attribute_store if span.bounded_attributes is None else span.bounded_attributes

    def __getitem__(self, key: str) -> Any:
        try:
            value = self._now()[key]
            if isinstance(value, Lazy):
                value = value.value()
        except KeyError:
            raise
        except Exception as error:
            faults.absorb("Span.attributes", error)
            return self._span._attributes[key]
        if value is DROPPED:
            raise KeyError(key)
        return value

    def _keys(self) -> tuple[str, ...]:
        keys = tuple(self._now())
        # If the SDK drops invalid values, the set of keys is known only once the lazy values are made.
        return keys if self._span.plan.clean is not None else tuple(key for key in keys if key in self)

    def __iter__(self) -> Iterator[str]:
        try:
            return iter(self._keys())
        except Exception as error:
            faults.report("Span.attributes", error)
            return iter(tuple(self._span._attributes))

    def __len__(self) -> int:
        try:
            return len(self._keys())
        except Exception as error:
            faults.report("Span.attributes", error)
            return len(self._span._attributes)

    def __repr__(self) -> str:
        return repr(self.copy())

    def copy(self) -> dict[str, Any]:
        """A copy of the attributes, as a dict."""
        return {key: self[key] for key in self}


def _bounded(maximum: int | None, store: dict[str, Any], longest: int | None, *, immutable: bool) -> BoundedAttributes:
    """Upstream's container around this very dict, in which no value may be lazy."""
    bounded = BoundedAttributes(maximum, None, immutable=False, max_value_len=longest)
    bounded._dict = store
    bounded._immutable = immutable
    return bounded


def make_event_class(state: type) -> type:
    """Make the event class, which converts its attributes to upstream's `BoundedAttributes` on first access."""

    class FastEvent(state, Event):
        """An `opentelemetry.sdk.trace.Event` as the fast path records it."""

        __slots__ = ()

        @property
        def _attributes(self) -> Any:
            try:
                if self.bounded_attributes is None:
                    limits, store = self.limits, _resolved(self.attribute_store)
                    bounded = _bounded(limits.max_event_attributes, store, limits.max_attribute_length, immutable=True)
                    if store is not self.attribute_store:
                        return bounded
                    self.bounded_attributes = _first(self, "attributes", bounded)
            except Exception as error:
                faults.absorb("Event.attributes", error)
                self.bounded_attributes = BoundedAttributes(None, self.attribute_store)
            return self.bounded_attributes

        @_attributes.setter
        def _attributes(self, value: Any) -> None:
            self.bounded_attributes = value

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copy and pickle as upstream's own class."""
            return Event(self._name, self._attributes, self._timestamp).__reduce_ex__(protocol)

    FastEvent.__name__ = FastEvent.__qualname__ = Event.__name__
    return FastEvent


class UpstreamFace:
    """The private and public attributes of upstream's span, with upstream's containers created on first use."""

    __slots__ = ()

    _instrumentation_info = _FromPlan("info")
    _limits = _FromPlan("limits")
    _sampler = _FromPlan("sampler")
    _span_processor = _FromPlan("processor")
    _trace_config = None

    @property
    def _lock(self) -> Any:
        try:
            if self.lock is None:
                # Reentrant: upstream logs and cleans values while holding it, and that code may use this span again.
                self.lock = _first(self, "lock", threading.RLock())
        except Exception as error:
            faults.report("Span", error)
            self.lock = threading.RLock()
        return self.lock

    @_lock.setter
    def _lock(self, value: Any) -> None:
        self.lock = value

    @property
    def _attributes(self) -> Any:
        try:
            return self._bound_attributes(None) if self.bounded_attributes is None else self.bounded_attributes
        except Exception as error:
            faults.absorb("Span.attributes", error)
            if self.bounded_attributes is None:
                limits = self._limits
                self.bounded_attributes = BoundedAttributes(
                    limits.max_span_attributes,
                    self.attribute_store,
                    immutable=_FREEZES and self._end_time is not None,
                    max_value_len=limits.max_span_attribute_length,
                )
            return self.bounded_attributes

    @_attributes.setter
    def _attributes(self, value: Any) -> None:
        self.bounded_attributes = value

    def _bound_attributes(self, attributes: Any) -> Any:
        """Create upstream's container with the store's attributes, or with these, which are not cleaned yet."""
        limits = self._limits
        maximum, longest = limits.max_span_attributes, limits.max_span_attribute_length
        if attributes:
            bounded = BoundedAttributes(maximum, attributes, immutable=False, max_value_len=longest)
        else:
            store = _resolved(self.attribute_store)
            bounded = _bounded(maximum, store, longest, immutable=False)
            if store is not self.attribute_store and is_being_made():
                # Only for this caller; the span gets its container once the value is made.
                return bounded
        self.bounded_attributes = bounded = _first(self, "attributes", bounded)
        if not attributes:
            # Until now, other threads may have set attributes or replaced the store.
            bounded._dict = _resolved(self.attribute_store)
        bounded._immutable = _FREEZES and self._end_time is not None
        return bounded

    def _end_further(self, batch: Any, measures: bool, announces: bool, sends: bool) -> None:  # positional for C
        """Complete the end of the span as upstream does, after a fault of ours; nothing is done twice.

        Args:
            batch: The first batch processor that has not queued the span yet, or None.
            measures: Whether the metric of ended spans is still to be recorded.
            announces: Whether `_on_ending` of the processors is still to be called.
            sends: Whether `on_end` of the processors is still to be called.
        """
        processor = self._span_processor
        if measures and self._record_end_metrics is not None:
            self._record_end_metrics()
        if announces:
            processor._on_ending(self)
        if sends:
            processor.on_end(self._readable_span())
        while batch is not None:
            batch.processor.emit(self)
            batch = batch.after

    def drop_surplus(self) -> None:
        """Drop the oldest attributes beyond the limit, which threads can exceed by setting some at the same time."""
        try:
            bounded, dropped = self._attributes, []
            with bounded._lock:
                kept, most = bounded._dict, bounded.maxlen
                while most is not None and len(kept) > most:
                    # Kept until the lock is released: freeing a value may run arbitrary code.
                    dropped.append(kept.pop(next(iter(kept))))
                    bounded.dropped += 1
            # Creating the container drops and counts surplus events.
            _ = self._events
        except Exception as error:
            # Nothing that was set or added is lost.
            faults.report("Span", error)

    @property
    def attributes(self) -> Any:
        """A read-only view of the attributes."""
        try:
            if self.bounded_attributes is not None:
                return MappingProxyType(self.bounded_attributes or {})
            if not self.attribute_store:
                return MappingProxyType({})
            resolved = _LiveAttributes(self) if self._end_time is None else _resolved(self.attribute_store)
            return MappingProxyType(resolved)
        except Exception as error:
            faults.absorb("Span.attributes", error)
        return _stock_attributes(self)

    @property
    def dropped_attributes(self) -> int:
        """How many attributes the limits dropped."""
        return getattr(self.bounded_attributes, "dropped", 0)

    @property
    def _events(self) -> Any:
        try:
            if self.bounded_events is None:
                store = tuple(self.event_store or ())
                bounded = BoundedList.from_seq(self._limits.max_events, store)
                self.bounded_events = kept = _first(self, "events", bounded)
                late = self.event_store
                if kept is bounded and late is not None and len(late) > len(store):
                    # Events that other threads added meanwhile.
                    bounded.extend(late[len(store) :])
        except Exception as error:
            faults.absorb("Span.events", error)
            if self.bounded_events is None:
                self.bounded_events = BoundedList.from_seq(self._limits.max_events, self.event_store or ())
        return self.bounded_events

    @_events.setter
    def _events(self, value: Any) -> None:
        self.bounded_events = value

    @property
    def events(self) -> tuple[Any, ...]:
        """The events so far."""
        try:
            return tuple((self.event_store or ()) if self.bounded_events is None else self.bounded_events)
        except Exception as error:
            faults.absorb("Span.events", error)
        return tuple(_stock_events(self))

    @property
    def dropped_events(self) -> int:
        """How many events the limit dropped."""
        return getattr(self.bounded_events, "dropped", 0)

    @property
    def _links(self) -> Any:
        try:
            if self.bounded_links is None:
                self.bounded_links = _first(self, "links", BoundedList(self._limits.max_links))
        except Exception as error:
            faults.absorb("Span.links", error)
            self.bounded_links = BoundedList(self._limits.max_links)
        return self.bounded_links

    @_links.setter
    def _links(self, value: Any) -> None:
        self.bounded_links = value

    @property
    def links(self) -> tuple[Any, ...]:
        """The links so far."""
        try:
            return () if self.bounded_links is None else tuple(self.bounded_links)
        except Exception as error:
            faults.absorb("Span.links", error)
        return tuple(_stock_links(self))

    @property
    def dropped_links(self) -> int:
        """How many links the limit dropped."""
        return getattr(self.bounded_links, "dropped", 0)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy and pickle as the read-only span that upstream passes to processors."""
        readable: ReadableSpan = _stock_readable_span(self)
        return readable.__reduce_ex__(protocol)

    def _readable_span(self) -> Any:
        """The read-only span that upstream passes to processors."""
        try:
            return read_only(self)
        except Exception as error:
            faults.absorb("Span._readable_span", error)
        return _stock_readable_span(self)


def make_span_class(state: type) -> type:
    """Make the class of recording spans, which inherits from upstream's `_Span`."""

    class FastSpan(state, UpstreamFace, _Span):
        """An `opentelemetry.sdk.trace.Span` as the fast path records it."""

    # Shown by repr(), and checked by code that looks at the name of a span's class.
    FastSpan.__name__ = FastSpan.__qualname__ = _Span.__name__
    return FastSpan


def make_dropped_class(identity: type) -> type:
    """Make the class of spans that are not recorded, which create their span context on first access."""

    class DroppedSpan(identity, NonRecordingSpan):
        """An `opentelemetry.trace.NonRecordingSpan` as the fast path creates it."""

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copy and pickle as upstream's own class."""
            # Not upstream's `__reduce_ex__`: pickle would compare the class that it returns with this one.
            return NonRecordingSpan, (self._context,), self.__dict__ or None

    DroppedSpan.__name__ = DroppedSpan.__qualname__ = NonRecordingSpan.__name__
    return DroppedSpan


def unlimited(limit: int | None) -> int:
    """The limit as a number; no limit is `sys.maxsize`."""
    return maxsize if limit is None else limit
