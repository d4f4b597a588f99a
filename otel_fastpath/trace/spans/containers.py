"""Stock's containers of attributes and events, created from what the fast path has stored on first use.

No lock is held while one is made: threads, signal handlers and finalizers that ask for one at the same time create one
each, and the first one stored is used, see `first` and `recorded.publish_attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.lazy import DROPPED, UNMADE, Lazy
from otel_fastpath.patching import faults
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.stock import UNKNOWN, watched
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Iterator


_READING: Final = ("__getitem__", "__iter__", "__len__")
# This module is not compiled: to look at a `WatchedFact`, it would take ten times as long.
_reading: Final = Facts(
    ((owner, name, value) for owner, name, value in watched(BoundedAttributes, *_READING))
    if are_known(sources(*(f"opentelemetry.attributes:BoundedAttributes.{name}" for name in _READING)))
    else UNKNOWN
)


def is_container_known() -> bool:
    """Whether nobody has changed how stock's container is read: what is stored may be shown without it."""
    return _reading.hold()


def first(holder: Any, name: str, made: Any) -> Any:
    """Store the value under this name, unless one was stored before, and return the stored one. Atomic."""
    return vars(holder).setdefault(f"_otel_fastpath_{name}", made)


def make_stored(span: Any) -> dict[str, Any]:
    """The attributes that a span or an event stores, with every lazy value made; a copy if one of them is `UNMADE`.

    It is, if its own function is asking.
    """
    copy = None
    # A copy, because threads may set others meanwhile.
    for key, value in span.copied_attributes().items():
        if not isinstance(value, Lazy):
            continue
        made = value.value()
        if made is UNMADE:
            copy = copy or {}
            copy[key] = made
        else:
            span.replace_attribute(key, value, made)
    store: dict[str, Any] = span.attribute_store
    return store if copy is None else {**span.copied_attributes(), **copy}


class LiveAttributes(Mapping[str, Any]):
    """The attributes of a span that has not ended. Like stock's container, they may be set during an iteration."""

    __slots__ = ("_span",)

    def __init__(self, span: Any) -> None:
        self._span = span

    def __getitem__(self, key: str) -> Any:
        """The value, made if it was lazy."""
        try:
            span = self._span
            value = span.stored_attribute(key) if span.bounded_attributes is None else span.bounded_attributes[key]
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
        span = self._span
        keys = tuple(span.copied_attributes() if span.bounded_attributes is None else span.bounded_attributes)
        # If the SDK drops invalid values, the set of keys is known only once the lazy values are made.
        return keys if span.plan.clean is not None else tuple(key for key in keys if key in self)

    def __iter__(self) -> Iterator[str]:
        """The keys as they are now."""
        try:
            return iter(self._keys())
        except Exception as error:
            faults.absorb_any("Span.attributes", error)
            return iter(tuple(self._span._attributes))

    def __len__(self) -> int:
        """How many there are now."""
        try:
            return len(self._keys())
        except Exception as error:
            faults.absorb_any("Span.attributes", error)
            return len(self._span._attributes)

    def __repr__(self) -> str:
        """As that of a dict."""
        return repr(self.copy())

    def copy(self) -> dict[str, Any]:
        """A copy of the attributes, as a dict."""
        return {key: self[key] for key in self}


def bounded_around(
    maximum: int | None, store: dict[str, Any], longest: int | None, *, immutable: bool
) -> BoundedAttributes:
    """Stock's container around this very dict, in which no value may be lazy."""
    bounded = BoundedAttributes(maximum, None, immutable=False, max_value_len=longest)
    bounded._dict = store
    bounded._immutable = immutable
    return bounded


def _copied_attributes(event: Any) -> dict[str, Any]:
    """As `recorded.copied_attributes`."""
    copy: dict[str, Any] = event.attribute_store.copy()
    return copy


def make_event_class(state: type) -> type:
    """Make the event class, which converts its attributes to stock's `BoundedAttributes` on first access."""

    class FastEvent(state, Event):
        """An `opentelemetry.sdk.trace.Event` as the fast path records it."""

        __slots__ = ()

        copied_attributes = _copied_attributes

        def replace_attribute(self, key: str, value: Any, made: Any) -> None:
            """As `recorded.replace_attribute`. Only this replaces attributes of an event, so it needs no section."""
            store = self.attribute_store
            if made is not DROPPED:
                store[key] = made
            elif store.get(key) is value:
                store.pop(key, None)

        @property
        def _attributes(self) -> Any:
            try:
                if self.bounded_attributes is None:
                    limits, store = self.limits, make_stored(self)
                    bounded = bounded_around(
                        limits.max_event_attributes, store, limits.max_attribute_length, immutable=True
                    )
                    if store is not self.attribute_store:
                        return bounded
                    self.bounded_attributes = first(self, "attributes", bounded)
            except Exception as error:
                faults.absorb("Event.attributes", error)
                self.bounded_attributes = BoundedAttributes(None, self.attribute_store)
            return self.bounded_attributes

        @_attributes.setter
        def _attributes(self, value: Any) -> None:
            self.bounded_attributes = value

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copy and pickle as stock's own class."""
            return Event(self._name, self._attributes, self._timestamp).__reduce_ex__(protocol)

    FastEvent.__name__ = FastEvent.__qualname__ = Event.__name__
    return FastEvent
