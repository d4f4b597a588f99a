"""Log records directly to OTLP protobuf bytes, with the wire format of `encoder`. Its twin is part of `encoder_c`."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.attributes import BoundedAttributes

from otel_fastpath.logs.records.record import RecordState
from otel_fastpath.otlp.encoder import _dropped, _field, _Fragments, _held, _Leave, _parent_id, _text, _time, leave

if TYPE_CHECKING:
    from otel_fastpath.otlp.encoder import EncodedSpans

_STRETCH: Final = 2048
_64_BITS: Final = (1 << 64) - 1
_flags: Final = Struct("<cI").pack
_trace_id: Final = Struct(">2sQQ").pack
_fragments = _Fragments(b"\x32")
_classes: list[Any] = [None, None, None]


def prepare_logs(readable: type, log_record: type, severity: type) -> None:
    """Set stock's classes of log records."""
    _classes[:] = readable, log_record, severity


def encode_logs(records: list[Any], at: int, groups: dict[tuple[int, int], EncodedSpans]) -> int:
    """Append log records, from index `at` on; like `encoder.encode`."""
    left = _STRETCH
    readable = _classes[0]
    try:
        while at < len(records):
            record = records[at]
            is_fast = isinstance(record, RecordState)
            if not is_fast and type(record) is not readable:
                return ~at
            out = groups.get((id(record.resource), id(record.instrumentation_scope)))
            if out is None:
                return at
            encoded = _record(out, record if is_fast and record.made is None else record.log_record)
            out.add(encoded)
            left -= len(encoded)
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


def _record(out: EncodedSpans, record: Any) -> bytes:
    """A record of the fast path, or one of exactly stock's class."""
    _, log_record, severity = _classes
    dropped = 0
    if isinstance(record, RecordState):
        attributes: Any = record.attribute_store
        if record.bounded_attributes is not None:
            attributes, dropped = _held(record.bounded_attributes)
    else:
        if type(record) is not log_record or type(record.attributes) is not BoundedAttributes:
            raise _Leave
        attributes, dropped = _held(record.attributes)
    number, flags = record.severity_number, record.trace_flags
    if (number is not None and type(number) is not severity) or not isinstance(flags, int):
        raise _Leave
    parts = [_time(b"\x09", record.timestamp)]
    if number is not None and number._value_:
        parts.append(bytes((0x10, number._value_)))
    parts += (_text(b"\x1a", record.severity_text), _field(b"\x2a", out._value(record.body, 0)))
    if attributes:
        out._add_attributes(parts, _fragments, attributes)
    if dropped:
        parts.append(_dropped(b"\x38", dropped))
    if flags:
        parts.append(_flags(b"\x45", flags))
    trace_id, span_id = record.trace_id, record.span_id
    if type(trace_id) is not int or type(span_id) is not int:
        raise _Leave
    if trace_id:
        parts.append(_trace_id(b"\x4a\x10", trace_id >> 64, trace_id & _64_BITS))
    if span_id:
        parts.append(_parent_id(b"\x52\x08", span_id))
    parts += (_time(b"\x59", record.observed_timestamp), _text(b"\x62", record.event_name))
    return b"".join(parts)
