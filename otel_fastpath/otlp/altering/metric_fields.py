"""The fields of a metric that are encoded, with the rule for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.proto.metrics.v1 import metrics_pb2 as pb2
from opentelemetry.sdk.metrics.export import ExponentialHistogram, Gauge, Histogram, Sum

from otel_fastpath.otlp.altering import counts
from otel_fastpath.otlp.altering.rules import (
    Fields,
    any_attributes,
    as_float,
    as_integer,
    each,
    identifier,
    optional,
    scalar,
    text,
    time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.otlp.altering.rules import Walk


def _amount(value: Any, walk: Walk, name: str) -> Any:
    """A number: one that is neither an integer of 64 bits nor taken as a float is sent as the nearest float."""
    try:
        point = pb2.NumberDataPoint()
        if isinstance(value, int):
            point.as_int = value
        else:
            point.as_double = value
    except Exception as error:
        walk.note(name, counts.ALTERED, error)
        return as_float(value)
    return value


def _measured(value: Any, walk: Walk, name: str) -> Any:
    """The number of an exemplar, for which stock takes floats and integers only."""
    if isinstance(value, int | float):
        return _amount(value, walk, name)
    made = as_float(value)
    walk.note(name, counts.ALTERED, TypeError(f"a {type(value).__name__} is neither an int nor a float"))
    return made


def _data(data: Any, walk: Walk, name: str) -> Any:
    # What stock does not know is sent without data.
    return next((fields(data, walk, name) for kind, fields in _DATA.items() if isinstance(data, kind)), data)


_TEMPORALITY: Final = scalar(pb2.Sum, "aggregation_temporality")
_EXEMPLAR: Final = Fields(
    "exemplar",
    time_unix_nano=time,
    trace_id=optional(identifier(16), None),
    span_id=optional(identifier(8), None),
    filtered_attributes=any_attributes,
    value=_measured,
)
_POINT: Final = {"attributes": any_attributes, "time_unix_nano": time}
_EXEMPLARS: Final = {"exemplars": optional(each(_EXEMPLAR), ())}
_BUCKETS: Final = Fields(
    "buckets",
    offset=scalar(pb2.ExponentialHistogramDataPoint.Buckets, "offset", as_integer),
    bucket_counts=scalar(
        pb2.ExponentialHistogramDataPoint.Buckets, "bucket_counts", lambda several: [*map(as_integer, several)]
    ),
)


def _summary(message: Any) -> Any:
    number = optional(scalar(message, "sum", as_float), None)
    return {
        "start_time_unix_nano": time,
        "count": scalar(message, "count", as_integer),
        "sum": number,
        "min": number,
        "max": number,
    }


_DATA: Final = {
    Gauge: Fields("metric", data_points=each(Fields("data_point", **_POINT, **_EXEMPLARS, value=_amount))),
    Sum: Fields(
        "metric",
        data_points=each(Fields("data_point", **_POINT, **_EXEMPLARS, start_time_unix_nano=time, value=_amount)),
        aggregation_temporality=_TEMPORALITY,
        is_monotonic=scalar(pb2.Sum, "is_monotonic", bool),
    ),
    Histogram: Fields(
        "metric",
        data_points=each(
            Fields(
                "data_point",
                **_POINT,
                **_EXEMPLARS,
                **_summary(pb2.HistogramDataPoint),
                bucket_counts=scalar(
                    pb2.HistogramDataPoint, "bucket_counts", lambda several: [*map(as_integer, several)]
                ),
                explicit_bounds=scalar(
                    pb2.HistogramDataPoint, "explicit_bounds", lambda several: [*map(as_float, several)]
                ),
            )
        ),
        aggregation_temporality=_TEMPORALITY,
    ),
    ExponentialHistogram: Fields(
        "metric",
        data_points=each(
            Fields(
                "data_point",
                **_POINT,
                **_EXEMPLARS,
                **_summary(pb2.ExponentialHistogramDataPoint),
                scale=scalar(pb2.ExponentialHistogramDataPoint, "scale", as_integer),
                zero_count=scalar(pb2.ExponentialHistogramDataPoint, "zero_count", as_integer),
                positive=_BUCKETS,
                negative=_BUCKETS,
                flags=optional(scalar(pb2.ExponentialHistogramDataPoint, "flags"), 0),
            )
        ),
        aggregation_temporality=_TEMPORALITY,
    ),
}
METRIC: Final = Fields("metric", name=text, description=text, unit=text, data=_data)


def attributes(metric: Any, encoded: Any) -> Iterator[tuple[str, Any, Any]]:
    """The names of fields, the attributes of a metric's data points, and those of their messages."""
    kind = encoded.WhichOneof("data")
    for point, made in zip(metric.data.data_points, getattr(encoded, kind).data_points, strict=True):
        yield "data_point.attributes", point.attributes, made.attributes
        for exemplar, of_exemplar in zip(point.exemplars, made.exemplars, strict=True):
            yield "exemplar.filtered_attributes", exemplar.filtered_attributes, of_exemplar.filtered_attributes
