"""Metrics directly to OTLP protobuf bytes, with the wire format of `encoder`. Its twin is part of `encoder_c`."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
)

from otel_fastpath.otlp.encoder import (
    _EACH,
    _dropped,
    _field,
    _Fragments,
    _held,
    _Leave,
    _parent_id,
    _text,
    _time,
    leave,
)
from otel_fastpath.patching.cache import Cache, remembering

if TYPE_CHECKING:
    from otel_fastpath.otlp.encoder import EncodedSpans

_MOST_EXACT: Final = 1 << 53
_64_BITS: Final = (1 << 64) - 1
# After so many points, other threads may run.
_STRETCH: Final = 16
_double: Final = Struct("<cd").pack
_signed: Final = Struct("<cq").pack
_trace_id: Final = Struct(">2sQQ").pack
_number_fragments = _Fragments(b"\x3a")
_histogram_fragments = _Fragments(b"\x4a")
# The encoded bounds of a histogram by the id of their tuple, with a reference to the tuple.
_bounds: Final = Cache(1 << 20)
# The size of one bound: a float, its place in a tuple, and its encoded bytes.
_BOUND: Final = 40
_plain: Final = Struct("<d").pack
# Typed as Any, since mypy need not check their attributes and keys.
_TEMPORALITY: Any = AggregationTemporality


def encode_metric(out: EncodedSpans, metric: Any) -> bool:
    """Append a metric; if stock's encoder must do it, append nothing and return False."""
    try:
        encoded = _metric(out, metric)
    except _Leave:
        return False
    except Exception as error:
        leave(error)
        return False
    out.add(encoded)
    return True


def _metric(out: EncodedSpans, metric: Any) -> bytes:
    if type(metric) is not Metric:
        raise _Leave
    data: Any = metric.data
    kind = type(data)
    if kind not in {Histogram, Sum, Gauge}:
        raise _Leave
    points = data.data_points
    if type(points) not in {list, tuple} or not points:
        raise _Leave
    encoded = []
    for number, point in enumerate(points, 1):
        if kind is Histogram:
            encoded.append(_field(b"\x0a", _histogram_point(out, point)))
        else:
            encoded.append(_field(b"\x0a", _number_point(out, point, has_start=kind is Sum)))
        if number % _STRETCH == 0:
            out.take_turn()
    tag = b"\x2a"
    if kind is not Gauge:
        tag = b"\x4a" if kind is Histogram else b"\x3a"
        if type(data.aggregation_temporality) is not _TEMPORALITY:
            raise _Leave
        encoded.append(_dropped(b"\x10", data.aggregation_temporality.value))
    if kind is Sum:
        if type(data.is_monotonic) is not bool:
            raise _Leave
        encoded.append(b"\x18\x01" if data.is_monotonic else b"")
    head = _text(b"\x0a", metric.name) + _text(b"\x12", metric.description) + _text(b"\x1a", metric.unit)
    return head + _field(tag, b"".join(encoded))


def _number_point(out: EncodedSpans, point: Any, *, has_start: bool) -> bytes:
    if type(point) is not NumberDataPoint:
        raise _Leave
    value = point.value
    parts = [_time(b"\x11", point.start_time_unix_nano) if has_start else b"", _time(b"\x19", point.time_unix_nano)]
    if type(value) is float:
        parts.append(_double(b"\x21", value))
    _add_exemplars(out, parts, b"\x2a", point.exemplars)
    if type(value) is not float:
        parts.append(_int(b"\x31", value))
    attributes, _ = _held(point.attributes)
    out._add_attributes(parts, _number_fragments, attributes)
    return b"".join(parts)


def _histogram_point(out: EncodedSpans, point: Any) -> bytes:
    if type(point) is not HistogramDataPoint:
        raise _Leave
    counts, bounds = point.bucket_counts, point.explicit_bounds
    if type(counts) is not tuple or type(bounds) is not tuple or not {int}.issuperset(map(type, counts)):
        raise _Leave
    parts = [
        _time(b"\x11", point.start_time_unix_nano),
        _time(b"\x19", point.time_unix_nano),
        _time(b"\x21", point.count),
        _real(b"\x29", point.sum),
    ]
    if counts:
        parts.append(_field(b"\x32", _packer(len(counts))(*counts)))
    if bounds:
        known = _bounds.items.get(id(bounds))
        parts.append(known[1] if known is not None else _packed_bounds(bounds))
    _add_exemplars(out, parts, b"\x42", point.exemplars)
    attributes, _ = _held(point.attributes)
    out._add_attributes(parts, _histogram_fragments, attributes)
    parts += (_real(b"\x59", point.min), _real(b"\x61", point.max))
    return b"".join(parts)


def _packed_bounds(bounds: tuple[Any, ...]) -> bytes:
    if any(bound is None for bound in bounds):
        raise _Leave
    packed = _field(b"\x3a", b"".join([_real(b"", bound) for bound in bounds]))
    _bounds.keep(id(bounds), (bounds, packed), _EACH + _BOUND * len(bounds))
    return packed


@remembering(64)
def _packer(number: int) -> Any:
    """The function that packs so many counts."""
    return Struct(f"<{number}Q").pack


def _add_exemplars(out: EncodedSpans, parts: list[bytes], tag: bytes, exemplars: Any) -> None:
    if type(exemplars) not in {list, tuple}:
        raise _Leave
    for exemplar in exemplars:
        if type(exemplar) is not Exemplar:
            raise _Leave
        value, span_id, trace_id = exemplar.value, exemplar.span_id, exemplar.trace_id
        content = [_time(b"\x11", exemplar.time_unix_nano)]
        if type(value) is float:
            content.append(_double(b"\x19", value))
        if span_id is not None and trace_id is not None:
            if type(span_id) is not int or type(trace_id) is not int:
                raise _Leave
            content.append(_parent_id(b"\x22\x08", span_id))
            content.append(_trace_id(b"\x2a\x10", trace_id >> 64, trace_id & _64_BITS))
        if type(value) is not float:
            content.append(_int(b"\x31", value))
        attributes, _ = _held(exemplar.filtered_attributes)
        out._add_attributes(content, _number_fragments, attributes)
        parts.append(_field(tag, b"".join(content)))


def _int(tag: bytes, value: Any) -> bytes:
    """An sfixed64 field, even if it is zero."""
    if type(value) is not int:
        raise _Leave
    return _signed(tag, value)


def _real(tag: bytes, value: Any) -> bytes:
    """A double field, left out if None; without a tag, a double."""
    if value is None:
        return b""
    if type(value) is not float and (type(value) is not int or not -_MOST_EXACT <= value <= _MOST_EXACT):
        raise _Leave
    return _double(tag, value) if tag else _plain(value)
