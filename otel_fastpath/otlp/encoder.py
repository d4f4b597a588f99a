"""Spans directly to OTLP protobuf bytes. Its twin is `encoder_c.pyx`; `trace_requests.py` describes the use of both.

Fields are written in the order of their numbers, as protobuf's own encoder does, so that equal spans give equal bytes.
Fields that often have the same value (a name, a key with a short value) are encoded once and cached. `_Leave` is raised
for spans that stock's encoder must handle.
"""

from __future__ import annotations

from collections import OrderedDict
from struct import Struct
from struct import error as _StructError  # noqa: N812  # a class
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, SpanContext, TraceState
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.lazy import Lazy
from otel_fastpath.otlp.trace_requests import resolve, varint
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import Cache
from otel_fastpath.trace.spans.recorded import EventState, SpanState, share_containers

if TYPE_CHECKING:
    from collections.abc import Callable

# Deeper values are left to stock's encoder, with its limits by protobuf or Python's stack.
_DEEPEST: Final = 24
# After so many bytes, some 50 microseconds of work, other threads may run.
_STRETCH: Final = 2048
# The most bytes of encoded fragments that are cached for one tag, the size of each besides its texts, and the longest
# text among the values.
_MOST: Final = 1 << 20
_EACH: Final = 256
_LONGEST: Final = 64

_MOST_DROPPED: Final = (1 << 32) - 1
_LARGEST: Final = (1 << 63) - 1
_64_BITS: Final = (1 << 64) - 1
_double: Final = Struct("<cd").pack
_pack_double: Final = Struct("<d").pack
_fixed64: Final = Struct("<cQ").pack
_ids: Final = Struct(">2sQQ2sQ").pack
_parent_id: Final = Struct(">2sQ").pack
_times: Final = Struct("<cQcQ").pack
# The flags say whether the parent, or the linked span, is remote, and that this is known.
_SPAN_FLAGS: Final = (b"\x85\x01\x00\x01\x00\x00", b"\x85\x01\x00\x03\x00\x00")
_LINK_FLAGS: Final = (b"\x35\x00\x01\x00\x00", b"\x35\x00\x03\x00\x00")
_KINDS: Final = {kind._value_: bytes((0x30, kind._value_ + 1)) for kind in SpanKind}
_CODES: Final = {code._value_: bytes((0x18, code._value_)) if code._value_ else b"" for code in StatusCode}
# A status without a description.
_STATUSES: Final = {number: bytes((0x7A, len(code))) + code for number, code in _CODES.items()}
# Typed as Any, since mypy need not check their attributes.
_EVENT_STATE: Any = EventState
_BOUNDED_LIST: Any = BoundedList


class _Leave(Exception):  # noqa: N818  # not an error: stock's encoder takes over
    """Stock must encode this span."""


# What is raised for values that protobuf refuses.
_REFUSED: Final = (_StructError, OverflowError, UnicodeEncodeError)
_VARINTS: Final = tuple(map(varint, range(2048)))


def _field(tag: bytes, content: bytes) -> bytes:
    """A field of type bytes, string or message."""
    size = len(content)
    return b"".join((tag, _VARINTS[size] if size < len(_VARINTS) else varint(size), content))


def _text(tag: bytes, text: Any) -> bytes:
    """A string field, left out if empty or None."""
    if text is None:
        return b""
    if not isinstance(text, str):
        raise _Leave
    # Not text.encode(): a subclass may have its own, which protobuf would not call.
    utf8 = str.encode(text)
    return _field(tag, utf8) if utf8 else b""


def _time(tag: bytes, time: Any) -> bytes:
    """A fixed64 field, left out if zero or None."""
    if time is None:
        return b""
    if type(time) is not int:
        raise _Leave
    return _fixed64(tag, time) if time else b""


def _dropped(tag: bytes, count: Any) -> bytes:
    if type(count) is not int or not 0 <= count <= _MOST_DROPPED:
        raise _Leave
    return tag + varint(count) if count else b""


def _both_ids(context: Any) -> bytes:
    """Trace id and span id, fields 1 and 2 of a span and of a link."""
    trace_id, span_id = context[0], context[1]
    if type(trace_id) is not int or type(span_id) is not int:
        raise _Leave
    return _ids(b"\x0a\x10", trace_id >> 64, trace_id & _64_BITS, b"\x12\x08", span_id)


def _held(attributes: Any) -> tuple[dict[str, Any], Any]:
    """Attributes as stock's classes store them, and how many were dropped because of the limit."""
    dropped = 0
    if type(attributes) is BoundedAttributes:
        attributes, dropped = attributes._dict, attributes.dropped
    elif attributes is None:
        attributes = {}
    elif type(attributes) is MappingProxyType:
        # The type that ReadableSpan.attributes returns and that copies of spans have.
        attributes = dict(attributes)
    if type(attributes) is OrderedDict:
        # Until 1.42, a full container.
        attributes = dict(attributes)
    if type(attributes) is not dict:
        raise _Leave
    return attributes, dropped


def _items(held: Any) -> tuple[Any, Any]:
    """Events or links, and how many were dropped because of the limit."""
    if held is None:
        return (), 0
    if type(held) is list or type(held) is tuple:
        return held, 0
    if type(held) is _BOUNDED_LIST:
        return tuple(held._dq), held.dropped
    raise _Leave


class _Fragments:
    """A cache of encoded fields of one tag.

    Whole `KeyValue` fields by (type of value, key, value), the bytes before a float by its key, names by the name.
    """

    __slots__ = ("_kept", "get", "tag")

    def __init__(self, tag: bytes) -> None:
        self.tag = tag
        self._kept = Cache(_MOST)
        self.get = self._kept.items.get

    def keep(self, key: Any, encoded: bytes) -> bytes:
        """Cache encoded bytes, unless they are very long; return them."""
        # The texts in the key are about as long as the encoded bytes.
        self._kept.keep(key, encoded, _EACH + 2 * len(encoded))
        return encoded


_span_fragments = _Fragments(b"\x4a")
_event_fragments = _Fragments(b"\x1a")
_link_fragments = _Fragments(b"\x22")
_names = _Fragments(b"\x2a")


def _status(status: Any) -> bytes:
    if status is None:
        return b""
    if type(status) is not Status or type(status._status_code) is not StatusCode:
        raise _Leave
    number, description = status._status_code._value_, status._description
    if description is None:
        return _STATUSES[number]
    return _field(b"\x7a", _text(b"\x12", description) + _CODES[number])


class EncodedSpans:
    """Encoded spans of one scope: a growing sequence of `ScopeSpans.spans` fields.

    Args:
        turn: Called now and then while encoding, to let other threads run.
        nulls: Whether None is an attribute value, encoded as an empty one.
    """

    __slots__ = ("_nulls", "_parts", "_turn", "_used")

    def __init__(self, turn: Callable[[], None], nulls: bool) -> None:
        self._turn = turn
        self._nulls = nulls
        self._parts: list[bytes] = []
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def content(self) -> bytes:
        """The bytes so far."""
        return b"".join(self._parts)

    def add(self, encoded: bytes) -> None:
        """Append an encoded span."""
        size = len(encoded)
        before = _VARINTS[size] if size < len(_VARINTS) else varint(size)
        used = self._used + 1 + len(before) + size
        # Append all parts or none: stock encodes a span that failed before this, and would send it a second time.
        self._parts += (b"\x12", before, encoded)
        self._used = used

    def encode(self, span: Any, is_fast: bool) -> int:
        """Append a span; returns its size."""
        encoded = self._fast_span(span) if is_fast else self._readable_span(span)
        size = len(encoded)
        self.add(encoded)
        return size

    def take_turn(self) -> None:
        """Call `turn`, which may let other threads run."""
        self._turn()

    def _fast_span(self, span: Any) -> bytes:
        share_containers(span)
        attributes, dropped = span.attribute_store, 0
        if span.bounded_attributes is not None:
            attributes, dropped = _held(span.bounded_attributes)
        events = span.event_store if span.bounded_events is None else span.bounded_events
        links = span.link_store if span.bounded_links is None else span.bounded_links
        return self._span(span, attributes, dropped, events, links)

    def _readable_span(self, span: Any) -> bytes:
        attributes, dropped = _held(span._attributes)
        if span._events is None or span._links is None:
            raise _Leave
        return self._span(span, attributes, dropped, span._events, span._links)

    def _span(self, span: Any, attributes: dict[str, Any], dropped: Any, events: Any, links: Any) -> bytes:
        context, parent, kind, name, status = span._context, span._parent, span._kind, span._name, span._status
        start, end = span._start_time, span._end_time
        if type(context) is not SpanContext or type(kind) is not SpanKind:
            raise _Leave
        state = context[4]
        parts = [_both_ids(context)]
        if state is not DEFAULT_TRACE_STATE and state is not None:
            if type(state) is not TraceState:
                raise _Leave
            parts.append(_text(b"\x1a", ",".join([f"{key}={value}" for key, value in state.items()])))
        if parent is not None:
            if type(parent) is not SpanContext or type(parent[1]) is not int:
                raise _Leave
            parts.append(_parent_id(b"\x22\x08", parent[1]))
        if type(name) is str:
            parts.append(_names.get(name) or _names.keep(name, _text(_names.tag, name)))
        else:
            parts.append(_text(b"\x2a", name))
        parts.append(_KINDS[kind._value_])
        if type(start) is int and type(end) is int and start and end:
            parts.append(_times(b"\x39", start, b"\x41", end))
        else:
            parts += (_time(b"\x39", start), _time(b"\x41", end))
        if attributes:
            self._add_attributes(parts, _span_fragments, attributes)
        if dropped:
            parts.append(_dropped(b"\x50", dropped))
        if events is not None:
            self._add_events(parts, events)
        if links is not None:
            self._add_links(parts, links)
        parts.append(_status(status))
        parts.append(_SPAN_FLAGS[parent is not None and bool(parent[2])])
        return b"".join(parts)

    def _add_events(self, parts: list[bytes], held: Any) -> None:
        events, dropped_events = _items(held)
        for event in events:
            if isinstance(event, _EVENT_STATE) and event.bounded_attributes is None:
                attributes, dropped = event.attribute_store, 0
            elif isinstance(event, _EVENT_STATE) or type(event) is Event:
                attributes, dropped = _held(event._attributes)
            else:
                raise _Leave
            content = [_time(b"\x09", event._timestamp), _text(b"\x12", event._name)]
            self._add_attributes(content, _event_fragments, attributes)
            content.append(_dropped(b"\x20", dropped))
            parts.append(_field(b"\x5a", b"".join(content)))
        if dropped_events:
            parts.append(_dropped(b"\x60", dropped_events))

    def _add_links(self, parts: list[bytes], held: Any) -> None:
        links, dropped_links = _items(held)
        for link in links:
            if type(link) is not Link or type(link._context) is not SpanContext:
                raise _Leave
            context = link._context
            attributes, dropped = _held(link._attributes)
            content = [_both_ids(context)]
            self._add_attributes(content, _link_fragments, attributes)
            content.append(_dropped(b"\x28", dropped))
            content.append(_LINK_FLAGS[bool(context[2])])
            parts.append(_field(b"\x6a", b"".join(content)))
        if dropped_links:
            parts.append(_dropped(b"\x70", dropped_links))

    def _add_attributes(self, parts: list[bytes], fragments: _Fragments, attributes: dict[str, Any]) -> None:
        for key, value in attributes.items():
            kind = type(value)
            if kind is float:
                before = fragments.get(key) or fragments.keep(key, self._before_float(fragments.tag, key))
                parts += (before, _pack_double(value))
            elif (kind is str and len(value) <= _LONGEST) or kind is int or kind is bool:
                parts.append(fragments.get((kind, key, value)) or self._keep(fragments, key, value))
            else:
                parts.append(_field(fragments.tag, self._key_value(key, value, 0)))

    def _keep(self, fragments: _Fragments, key: Any, value: Any) -> bytes:
        return fragments.keep((type(value), key, value), _field(fragments.tag, self._key_value(key, value, 0)))

    def _before_float(self, tag: bytes, key: Any) -> bytes:
        """The field of a float with this key, without the number itself."""
        return _field(tag, self._key_value(key, 0.0, 0))[:-8]

    def _key_value(self, key: Any, value: Any, depth: int) -> bytes:
        # Stock calls str() on a nested key, which for an enum member is not its value.
        if type(key) is not str and (depth or not isinstance(key, str)):
            raise _Leave
        return _text(b"\x0a", key) + _field(b"\x12", self._value(value, depth))

    def _value(self, value: Any, depth: int) -> bytes:
        """The content of an `AnyValue` message.

        Subclasses count as what they inherit, as in stock's isinstance: an HTTPStatus is an int.
        """
        if isinstance(value, Lazy):
            value = resolve(value, self._turn)
        if isinstance(value, str):
            return _field(b"\x0a", str.encode(value))
        if value is True or value is False:
            return b"\x10\x01" if value else b"\x10\x00"
        if isinstance(value, int):
            number = int.__index__(value)
            if not ~_LARGEST <= number <= _LARGEST:
                raise _Leave
            return b"\x18" + varint(number & _64_BITS)
        if isinstance(value, float):
            return _double(b"\x21", value)
        if isinstance(value, bytes):
            return _field(b"\x3a", b"".join((value,)))
        if value is None and self._nulls:
            return b""
        if depth >= _DEEPEST:
            raise _Leave
        if type(value) is tuple or type(value) is list:
            return _field(b"\x2a", b"".join([_field(b"\x0a", self._value(each, depth + 1)) for each in value]))
        if type(value) is dict:
            pairs = [_field(b"\x0a", self._key_value(key, each, depth + 1)) for key, each in value.items()]
            return _field(b"\x32", b"".join(pairs))
        raise _Leave


def encode(spans: list[Any], at: int, groups: dict[tuple[int, int], EncodedSpans]) -> int:
    """Append spans, from index `at` on, to the `EncodedSpans` of their (id of resource, id of scope).

    Returns:
        The index of the first span that was not encoded, if there is no `EncodedSpans` for it yet. If stock's encoder
        must encode that span, the complement of its index (a negative number).
    """
    left = _STRETCH
    try:
        while at < len(spans):
            span = spans[at]
            is_fast = isinstance(span, SpanState)
            if not is_fast and type(span) is not ReadableSpan:
                return ~at
            out = groups.get((id(span._resource), id(span._instrumentation_scope)))
            if out is None:
                return at
            left -= out.encode(span, is_fast)
            at += 1
            if left <= 0:
                left = _STRETCH
                out.take_turn()
    except _Leave:
        return ~at
    except Exception as error:
        leave(error)
        return ~at
    return at


def leave(error: Exception) -> None:
    """In an `except` clause, before stock encodes an item: report the error if it is a fault of ours.

    Raises:
        Exception: The error, if it arrived between two instructions.
    """
    faults.raise_interruption(error)
    if not isinstance(error, _REFUSED) and faults.ours(error):
        faults.report("OTLP encoder", error)
