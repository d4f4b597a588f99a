"""Spans as stock's `_encode_span` encodes them, where its source is not known.

It runs, and says what the fields of a span are: in the place of the functions that encode attributes, events and links,
and of the message, there are functions that only keep what they are given. The three are then encoded by this package,
which saves most of the time; the other fields by protobuf.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanKind

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from types import ModuleType

_FUNCTION: Final = "_encode_span"
_MESSAGE: Final = "PB2SPan"
# The fields that are encoded here, and the functions that stock encodes them with.
_PARTS: Final = {"attributes": "_encode_attributes", "events": "_encode_events", "links": "_encode_links"}
# Each of them, and the attribute of a span that holds it.
_FIELDS: Final = tuple((name, f"_{name}") for name in _PARTS)
# The numbers of fields are their order.
_FIRST: Final = SpanMessage.DESCRIPTOR.fields_by_name["attributes"].number
_LATE: Final = tuple(each.name for each in SpanMessage.DESCRIPTOR.fields if each.number > _FIRST)
# The resource and the scope of the span that holds the parts.
_GROUP: Final = (id(None), id(None))
# A span that has nothing.
_EMPTY: Final = {
    **vars(ReadableSpan("", INVALID_SPAN_CONTEXT, resource=Resource.get_empty(), kind=SpanKind.INTERNAL)),
    "_status": None,
    "_resource": None,
    "_instrumentation_scope": None,
}
# What there is before and after them in a span that has nothing else: the ids and the kind, and the flags.
_BEFORE: Final = 30
_AFTER: Final = 6


def read_by(module: ModuleType) -> tuple[str, ...]:
    """The names that stock's function reads in its module: other code may replace what they are."""
    names = vars(module)
    return tuple(name for name in names[_FUNCTION].__code__.co_names if name in names)


class SpanSteps:
    """Encodes spans by the steps of stock's function.

    Args:
        module: The module of the function.
        encoder: The module `encoder` or its twin.
        nulls: As for its `EncodedSpans`.
    """

    def __init__(self, module: ModuleType, encoder: Any, nulls: bool) -> None:
        stock: Any = vars(module)[_FUNCTION]
        names = {
            **vars(module),
            _MESSAGE: dict,
            **{each: _keep(own) for each, (_, own) in zip(_PARTS.values(), _FIELDS, strict=True)},
        }
        self._fields: Any = FunctionType(stock.__code__, names, _FUNCTION, stock.__defaults__, stock.__closure__)
        self._fields.__kwdefaults__ = stock.__kwdefaults__
        self._encoder = encoder
        self._nulls = nulls

    def encode_run(self, spans: list[Any], at: int, groups: dict[tuple[int, int], Any]) -> int:
        """What `encoder.encode` does."""
        carrier: Any = ReadableSpan.__new__(ReadableSpan)
        vars(carrier).update(_EMPTY)
        for number in range(at, len(spans)):
            span = spans[number]
            try:
                out = groups.get((id(span.resource), id(span.instrumentation_scope or None)))
                encoded = None if out is None else self._encode(span, carrier)
            except Exception as error:
                faults.raise_interruption(error)
                return ~number
            if out is None:
                return number
            if encoded is None:
                return ~number
            out.add(encoded)
        return len(spans)

    def _encode(self, span: Any, carrier: Any) -> bytes | None:
        """The bytes of a span; None if stock must encode it. The carrier is a span that gets its parts."""
        fields = self._fields(span)
        if type(fields) is not dict or not fields.keys() >= _PARTS.keys():
            return None
        for name, own in _FIELDS:
            given = fields.pop(name)
            if type(given) is not tuple or given[0] is not own:
                return None
            setattr(carrier, own, given[1])
        carrier._events, carrier._links = tuple(carrier._events or ()), tuple(carrier._links or ())
        parts = self._encoder.EncodedSpans(_no_turn, self._nulls)
        if self._encoder.encode([carrier], 0, {_GROUP: parts}) != 1:
            return None
        content: bytes = parts.content()
        late = {name: fields.pop(name) for name in _LATE if name in fields}
        is_ordered = not (late.get("dropped_attributes_count") or late.get("dropped_events_count"))
        inside = content[_size_of_head(content) + _BEFORE : -_AFTER]
        encoded = b"".join((_message(fields), inside, _message(late)))
        return encoded if is_ordered else bytes(SpanMessage.FromString(encoded).SerializePartialToString())


def _keep(own: str) -> Any:
    def keep(value: Any) -> tuple[str, Any]:
        return own, value

    return keep


def _message(fields: dict[str, Any]) -> bytes:
    encoded: bytes = SpanMessage(**fields).SerializePartialToString()
    return encoded


def _size_of_head(field: bytes) -> int:
    """The size of a field's tag and length, which are before its content."""
    at = 1
    while field[at] & 0x80:
        at += 1
    return at + 1


def _no_turn() -> None:
    pass
