"""Collection of metrics: takes the data points of stock's objects with `points` or its compiled twin.

Objects that are exactly stock's, by type and by the methods that they were imported with, are collected here. Others
are collected by their own methods, or the whole collection is left to stock. The locks of a reader's storage and of
a stream are held only to read or take their content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.metrics import Counter, ObservableCounter
from opentelemetry.sdk.metrics._internal import aggregation as _aggregations
from opentelemetry.sdk.metrics._internal import exemplar as _exemplars
from opentelemetry.sdk.metrics._internal import metric_reader_storage as _storages
from opentelemetry.sdk.metrics._internal._view_instrument_match import _ViewInstrumentMatch
from opentelemetry.sdk.metrics._internal.point import (
    ExponentialHistogram,
    Gauge,
    Histogram,
    Metric,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.metrics.instruments.recorders import forget_series
from otel_fastpath.metrics.known_types import unknown
from otel_fastpath.metrics.stock_buckets import COLLECTING, MERGING
from otel_fastpath.patching.pausing import Pace
from otel_fastpath.patching.stock import unreplaced

if TYPE_CHECKING:
    from collections.abc import Callable

_DELTA: Final = _aggregations.AggregationTemporality.DELTA
# The aggregations, in the order in which stock tests for them.
_SUM: Final = _aggregations._SumAggregation
_LAST: Final = _aggregations._LastValueAggregation
_HISTOGRAM: Final = _aggregations._ExplicitBucketHistogramAggregation
_DROP: Final = _aggregations._DropAggregation
_EXPONENTIAL: Final = _aggregations._ExponentialBucketHistogramAggregation
_KINDS: Final[tuple[type, ...]] = (_SUM, _LAST, _HISTOGRAM, _DROP, _EXPONENTIAL)
_METHODS: Final[dict[type, tuple[str, ...]]] = {
    _ViewInstrumentMatch: ("collect",),
    **dict.fromkeys((_SUM, _LAST), ("collect", "_collect_exemplars")),
    _HISTOGRAM: ("collect", "_collect_exemplars", "_get_empty_bucket_counts"),
    **dict.fromkeys(
        (_exemplars.AlignedHistogramBucketExemplarReservoir, _exemplars.SimpleFixedSizeExemplarReservoir),
        ("collect", "_reset"),
    ),
}
_MODULE: Final = "opentelemetry.sdk.metrics._internal"
_RESERVOIR: Final = f"{_MODULE}.exemplar.exemplar_reservoir"
# What the data points of an aggregation, and their exemplars, rest on, besides what all collection does.
RESTS_ON: Final[dict[type, tuple[str, ...]]] = (
    {
        kind: (
            *(f"{_MODULE}.aggregation:{kind.__name__}.{method}" for method in ("__init__", "collect", *more)),
            f"{_MODULE}.point:{point}",
        )
        for kind, point, *more in (
            (_SUM, "NumberDataPoint"),
            (_LAST, "NumberDataPoint"),
            (_HISTOGRAM, "HistogramDataPoint", "_get_empty_bucket_counts"),
        )
    }
    | {
        _EXPONENTIAL: COLLECTING,
    }
    | {
        kind: (
            f"{_RESERVOIR}:{kind.__name__}",
            f"{_RESERVOIR}:ExemplarBucket",
            f"{_RESERVOIR}:FixedSizeExemplarReservoirABC.collect",
            f"{_RESERVOIR}:FixedSizeExemplarReservoirABC._reset",
        )
        for kind in (_exemplars.AlignedHistogramBucketExemplarReservoir, _exemplars.SimpleFixedSizeExemplarReservoir)
    }
)
_methods: Final = Facts(unreplaced(kind, name) for kind, names in _METHODS.items() for name in names)
_merging: Final = Facts(MERGING)
_storage_globals: Final = vars(_storages)


class _Stream(NamedTuple):
    """One view of one instrument, with the temporality and aggregation of its data."""

    instrument: Any
    temporality: Any
    match: Any
    kind: type


class Collector:
    """Collects for metric readers, with the data points of one core.

    Args:
        points_of: The function of this name in `points` or its compiled twin.
    """

    def __init__(self, points_of: Callable[[Any, Any, int, Callable[[], None]], list[Any]]) -> None:
        self._points_of = points_of
        self._unknown = unknown(RESTS_ON, "Collection")

    def collect(self, storage: Any) -> tuple[bool, Any]:
        """Collect as stock's `MetricReaderStorage.collect` does.

        Returns:
            Whether the data was collected (if not, stock must collect it), and the data.

        Raises:
            Exception: The exception of a user's aggregation or reservoir.
        """
        if type(storage) is not _storages.MetricReaderStorage or not _methods.hold():
            return False, None
        start = _storage_globals["time_ns"]()
        streams = _streams_of(storage)
        if streams is None:
            return False, None
        apart = tuple(self._unknown if _merging.hold() else {*self._unknown, _EXPONENTIAL})
        pace = Pace()
        scopes: dict[Any, list[Any]] = {}
        for stream in streams:
            points = self._points(stream, start, apart, pace.turn)
            pace.turn()
            if not points or stream.kind is _DROP:
                continue
            scope = stream.instrument.instrumentation_scope
            metrics = scopes.get(scope)
            if metrics is None:
                metrics = scopes[scope] = []
            metrics.append(_metric(stream, points))
        return True, _data(storage._sdk_config.resource, scopes)

    def _points(self, stream: _Stream, start: int, apart: tuple[type, ...], turn: Callable[[], None]) -> Any:
        match = stream.match
        if not _is_plain(match):
            return match.collect(stream.temporality, start)
        # Since 1.45.2 the aggregations are replaced at each collection. Recording checks, under a lock, that it still
        # has the current ones, so nothing more is recorded in those that are taken here.
        if stream.temporality is _DELTA and getattr(match, "_reset_on_collect", False):
            fresh: dict[Any, Any] = {}
            with match._lock:
                # No calls here: a finalizer that measures would deadlock on this lock.
                home = match._attributes_aggregation
                match._attributes_aggregation = fresh
                match._previous_collection_start_nanos = start
            forget_series(stream.instrument)
        else:
            home = match._attributes_aggregation
        # Atomic: other threads may add aggregations.
        aggregations = list(home.values())
        if apart and any(_is_of(each, apart) for each in aggregations):
            points = [each.collect(stream.temporality, start) for each in aggregations]
            return [point for point in points if point is not None]
        return self._points_of(aggregations, stream.temporality, start, turn)


def _is_of(aggregation: Any, kinds: tuple[type, ...]) -> bool:
    """Whether the aggregation or its reservoir is of one of these kinds."""
    return isinstance(aggregation, kinds) or isinstance(getattr(aggregation, "_reservoir", None), kinds)


def _is_plain(match: Any) -> bool:
    return type(match) is _ViewInstrumentMatch and "collect" not in vars(match)


def _streams_of(storage: Any) -> list[_Stream] | None:
    """The streams to collect, or None if there is an unknown aggregation, which stock must handle."""
    with storage._lock:
        instruments = list(storage._instrument_view_instrument_matches.items())
    streams = []
    for instrument, matches in instruments:
        temporality = storage._instrument_class_temporality[instrument.__class__]
        for match in matches:
            kind = _kind_of(match._aggregation)
            if kind is None:
                return None
            streams.append(_Stream(instrument, temporality, match, kind))
    return streams


def _kind_of(aggregation: Any) -> type | None:
    for kind in _KINDS:
        if type(aggregation) is kind:
            return kind
    return next((kind for kind in _KINDS if isinstance(aggregation, kind)), None)


def _metric(stream: _Stream, points: list[Any]) -> Any:
    kind, match = stream.kind, stream.match
    data: Any
    if kind is _SUM:
        is_monotonic = isinstance(stream.instrument, Counter | ObservableCounter)
        data = Sum(data_points=points, aggregation_temporality=stream.temporality, is_monotonic=is_monotonic)
    elif kind is _LAST:
        data = Gauge(data_points=points)
    else:
        histogram = Histogram if kind is _HISTOGRAM else ExponentialHistogram
        data = histogram(data_points=points, aggregation_temporality=stream.temporality)
    return Metric(name=match._name, description=match._description, unit=match._instrument.unit, data=data)


def _data(resource: Any, scopes: dict[Any, list[Any]]) -> Any:
    if not scopes:
        return None
    of_scopes = [
        ScopeMetrics(scope=scope, metrics=metrics, schema_url=scope.schema_url) for scope, metrics in scopes.items()
    ]
    of_resource = ResourceMetrics(resource=resource, scope_metrics=of_scopes, schema_url=resource.schema_url)
    return MetricsData(resource_metrics=[of_resource])
