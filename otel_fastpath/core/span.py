"""The recording span: the hot state joined with upstream's `_Span`, and what upstream's own code expects of it.

Whatever reads or writes a private attribute of upstream's span (`_attributes`, `_events`, `_lock`, ...) finds it here:
upstream's container is made on first use and is from then on the one that counts.
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

from otel_fastpath.lazy import Lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

# Held while a span gets its lock or one of upstream's containers; never while code that is not ours is called.
_making = threading.Lock()
# Since 1.43 an ended span's attributes are immutable.
_FREEZES = "_immutable" in _Span.end.__code__.co_names


class _FromPlan:
    """An attribute that is the tracer's and the same for all its spans; a span can still be given one of its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, span: Any, owner: type) -> Any:
        return self if span is None else getattr(span.plan, self._name)


def _resolved(store: dict[str, Any]) -> dict[str, Any]:
    """The store, with every lazy value made."""
    for key, value in tuple(store.items()):
        if isinstance(value, Lazy):
            store[key] = value.value()
    return store


class _LiveAttributes(Mapping[str, Any]):
    """The attributes of a span that goes on. As upstream's container it can be iterated while others set attributes."""

    __slots__ = ("_span",)

    def __init__(self, span: Any) -> None:
        self._span = span

    def _now(self) -> Any:
        span = self._span
        return span.attribute_store if span.bounded_attributes is None else span.bounded_attributes

    def __getitem__(self, key: str) -> Any:
        value = self._now()[key]
        return value.value() if isinstance(value, Lazy) else value

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._now()))

    def __len__(self) -> int:
        return len(self._now())

    def __repr__(self) -> str:
        return repr(self.copy())

    def copy(self) -> dict[str, Any]:
        """The attributes in a dict of their own."""
        return {key: self[key] for key in self}


def _bounded(maximum: int | None, store: dict[str, Any], longest: int | None, *, immutable: bool) -> BoundedAttributes:
    """Upstream's container around the very same dict."""
    bounded = BoundedAttributes(maximum, None, immutable=False, max_value_len=longest)
    bounded._dict = _resolved(store)
    bounded._immutable = immutable
    return bounded


def make_event_class(state: type) -> type:
    """An event whose attributes are upstream's `BoundedAttributes` once somebody looks."""

    class FastEvent(state, Event):
        """An `opentelemetry.sdk.trace.Event` as the fast path records it."""

        __slots__ = ()

        @property
        def _attributes(self) -> Any:
            if self.bounded_attributes is None:
                limits = self.limits
                self.bounded_attributes = _bounded(
                    limits.max_event_attributes, self.attribute_store, limits.max_attribute_length, immutable=True
                )
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
    def _lock(self) -> threading.Lock:
        if self.lock is None:
            with _making:
                if self.lock is None:
                    self.lock = threading.Lock()
        lock: threading.Lock = self.lock
        return lock

    @_lock.setter
    def _lock(self, value: Any) -> None:
        self.lock = value

    @property
    def _attributes(self) -> Any:
        if self.bounded_attributes is None:
            self._bound_attributes(None)
        return self.bounded_attributes

    @_attributes.setter
    def _attributes(self, value: Any) -> None:
        self.bounded_attributes = value

    def _bound_attributes(self, attributes: Any) -> None:
        """Hand the attributes over to upstream's container: those of the store, or these, which it must clean."""
        limits = self._limits
        maximum, longest = limits.max_span_attributes, limits.max_span_attribute_length
        if attributes:
            bounded = BoundedAttributes(maximum, attributes, immutable=False, max_value_len=longest)
        else:
            bounded = _bounded(maximum, self.attribute_store, longest, immutable=False)
        with _making:
            if self.bounded_attributes is None:
                self.bounded_attributes = bounded
        if not attributes:
            # Whatever other threads did until then: set attributes, or put another store in the place of the first.
            self.bounded_attributes._dict = _resolved(self.attribute_store)
        self.bounded_attributes._immutable = _FREEZES and self._end_time is not None

    def drop_surplus(self) -> None:
        """Drop the oldest of what threads have set beyond a limit at once, counted."""
        bounded = self._attributes
        with bounded._lock:
            kept, most = bounded._dict, bounded.maxlen
            while most is not None and len(kept) > most:
                del kept[next(iter(kept))]
                bounded.dropped += 1
        # Making it counts what is too much.
        _ = self._events

    @property
    def attributes(self) -> Any:
        """A read-only view of the attributes."""
        if self.bounded_attributes is not None:
            return MappingProxyType(self.bounded_attributes or {})
        if not self.attribute_store:
            return MappingProxyType({})
        return MappingProxyType(_LiveAttributes(self) if self._end_time is None else _resolved(self.attribute_store))

    @property
    def dropped_attributes(self) -> int:
        """How many attributes the limits dropped."""
        return getattr(self.bounded_attributes, "dropped", 0)

    @property
    def _events(self) -> Any:
        if self.bounded_events is None:
            with _making:
                if self.bounded_events is None:
                    store = self.event_store or []
                    seen = len(store)
                    bounded = BoundedList.from_seq(self._limits.max_events, store[:seen])
                    self.bounded_events = bounded
                    # What other threads added until then.
                    bounded.extend(store[seen:])
        return self.bounded_events

    @_events.setter
    def _events(self, value: Any) -> None:
        self.bounded_events = value

    @property
    def events(self) -> tuple[Any, ...]:
        """The events so far."""
        return tuple((self.event_store or ()) if self.bounded_events is None else self.bounded_events)

    @property
    def dropped_events(self) -> int:
        """How many events the limit dropped."""
        return getattr(self.bounded_events, "dropped", 0)

    @property
    def _links(self) -> Any:
        if self.bounded_links is None:
            self.bounded_links = BoundedList(self._limits.max_links)
        return self.bounded_links

    @_links.setter
    def _links(self, value: Any) -> None:
        self.bounded_links = value

    @property
    def links(self) -> tuple[Any, ...]:
        """The links so far."""
        return () if self.bounded_links is None else tuple(self.bounded_links)

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
