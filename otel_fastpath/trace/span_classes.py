"""The recording span: the hot state joined with upstream's `_Span`, and what upstream's own code expects of it.

Whatever reads or writes a private attribute of upstream's span (`_attributes`, `_events`, `_lock`, ...) finds it here:
upstream's container is made on first use and is from then on the one that counts. No lock is around that: threads,
signal handlers and finalizers that come at once make one each, and the first that is kept counts, see `_first`.
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

if TYPE_CHECKING:
    from collections.abc import Iterator

# Since 1.43 an ended span's attributes are immutable.
_FREEZES = "_immutable" in _Span.end.__code__.co_names
_stock_attributes: Any = ReadableSpan.attributes.fget
_stock_events: Any = ReadableSpan.events.fget
_stock_links: Any = ReadableSpan.links.fget


class _FromPlan:
    """An attribute that is the tracer's and the same for all its spans; a span can still be given one of its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, span: Any, owner: type) -> Any:
        try:
            return self if span is None else getattr(span.plan, self._name)
        except Exception as error:
            # It is there: what failed came from elsewhere, from a signal handler or for want of memory.
            faults.report("Span", error)
            return getattr(span.plan, self._name)


def _first(holder: Any, name: str, made: Any) -> Any:
    """The value, or what this span or event was given first under this name: one step, whoever comes at once."""
    return vars(holder).setdefault(f"_otel_fastpath_{name}", made)


def _resolved(store: dict[str, Any]) -> dict[str, Any]:
    """The store, with every lazy value made; a copy, where one of them is being made by who asks and stays `UNMADE`."""
    copy = None
    for key, value in tuple(store.items()):
        if not isinstance(value, Lazy):
            continue
        made = value.value()
        if made is UNMADE:
            copy = copy or {}
            copy[key] = made
        elif store.get(key) is not value:
            # The attribute was set anew meanwhile, or dropped.
            continue
        elif made is DROPPED:
            store.pop(key, None)
        else:
            store[key] = made
    return store if copy is None else {**store, **copy}


class _LiveAttributes(Mapping[str, Any]):
    """The attributes of a span that goes on. As upstream's container it can be iterated while others set attributes."""

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
        # Where the SDK drops values that are not valid, which keys there are is known once the values are made.
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
        """The attributes in a dict of their own."""
        return {key: self[key] for key in self}


def _bounded(maximum: int | None, store: dict[str, Any], longest: int | None, *, immutable: bool) -> BoundedAttributes:
    """Upstream's container around the very same dict, in which no value is lazy any more."""
    bounded = BoundedAttributes(maximum, None, immutable=False, max_value_len=longest)
    bounded._dict = store
    bounded._immutable = immutable
    return bounded


def make_event_class(state: type) -> type:
    """An event whose attributes are upstream's `BoundedAttributes` once somebody looks."""

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
            """Copies and pickles are upstream's own."""
            return Event(self._name, self._attributes, self._timestamp).__reduce_ex__(protocol)

    FastEvent.__name__ = FastEvent.__qualname__ = Event.__name__
    return FastEvent


class UpstreamFace:
    """What upstream's own code, and code that looks behind it, finds on a span: its containers, made on first use."""

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
                # Upstream's own code logs and cleans values under it: what that calls may come back to this span.
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
        """Hand the attributes over to upstream's container, which is given: those of the store, or these, not clean."""
        limits = self._limits
        maximum, longest = limits.max_span_attributes, limits.max_span_attribute_length
        if attributes:
            bounded = BoundedAttributes(maximum, attributes, immutable=False, max_value_len=longest)
        else:
            store = _resolved(self.attribute_store)
            bounded = _bounded(maximum, store, longest, immutable=False)
            if store is not self.attribute_store and is_being_made():
                # For the one who asks; the span's own is made once the value is.
                return bounded
        self.bounded_attributes = bounded = _first(self, "attributes", bounded)
        if not attributes:
            # Whatever other threads did until then: set attributes, or put another store in the place of the first.
            bounded._dict = _resolved(self.attribute_store)
        bounded._immutable = _FREEZES and self._end_time is not None
        return bounded

    def _end_further(self, batch: Any, measures: bool, announces: bool, sends: bool) -> None:  # positional for C
        """Go on with the end of the span, as upstream does, after a fault of ours; nothing is done twice.

        Args:
            batch: The first of those whose queues the span is not in yet, or None.
            measures: Whether what counts ended spans is still to be called.
            announces: Whether `_on_ending` of the processors is.
            sends: Whether `on_end` of the processors is.
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
        """Drop the oldest of what threads have set beyond a limit at once, counted."""
        try:
            bounded, dropped = self._attributes, []
            with bounded._lock:
                kept, most = bounded._dict, bounded.maxlen
                while most is not None and len(kept) > most:
                    # Freed once the lock is: that may run anything.
                    dropped.append(kept.pop(next(iter(kept))))
                    bounded.dropped += 1
            # Making it counts what is too much.
            _ = self._events
        except Exception as error:
            # What was set or added is in place.
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
                    # What other threads added until then.
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
        """Copies and pickles are those of the read-only span that upstream hands to processors."""
        readable: ReadableSpan = self._readable_span()
        return readable.__reduce_ex__(protocol)


def make_span_class(state: type) -> type:
    """The span that the fast tracer path creates: `isinstance` of every class that upstream's is."""

    class FastSpan(state, UpstreamFace, _Span):
        """An `opentelemetry.sdk.trace.Span` as the fast path records it."""

    # Shown by repr(), and what others look for in a span's class.
    FastSpan.__name__ = FastSpan.__qualname__ = _Span.__name__
    return FastSpan


def make_dropped_class(identity: type) -> type:
    """The span of a trace that nobody records: its span context is made once somebody asks."""

    class DroppedSpan(identity, NonRecordingSpan):
        """An `opentelemetry.trace.NonRecordingSpan` as the fast path creates it."""

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copies and pickles are upstream's own."""
            # Not what upstream's own says of such a span: pickle compares the class that it names with this one.
            return NonRecordingSpan, (self._context,), self.__dict__ or None

    DroppedSpan.__name__ = DroppedSpan.__qualname__ = NonRecordingSpan.__name__
    return DroppedSpan


def unlimited(limit: int | None) -> int:
    """A limit as the hot code compares it."""
    return maxsize if limit is None else limit
