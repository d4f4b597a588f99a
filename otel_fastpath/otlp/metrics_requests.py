"""OTLP metrics requests as bytes, assembled like those of spans, see `trace_requests`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics.export import (
    ExponentialHistogram,
    Gauge,
    Histogram,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from otel_fastpath.otlp.trace_requests import Encoder, _no_turn, _SpanBatch, report
from otel_fastpath.patching import faults
from otel_fastpath.patching.pausing import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.trace_requests import StockEncoder

# The types of data that stock encodes with one message for each data point.
_KINDS: Final = frozenset({ExponentialHistogram, Gauge, Histogram, Sum})


class MetricsEncoder(Encoder):
    """Encodes the metrics that a reader collected; thread-safe. Here `span` of stock's functions encodes a metric."""

    def __init__(self, encoder: Any, encode_metric: Callable[[Any, Any], bool], stock: StockEncoder) -> None:
        super().__init__(encoder, stock)
        self._encode_metric = encode_metric

    def encode_data(self, data: Any) -> tuple[bytes, int | None] | None:
        """Encode a request. A data point that cannot be encoded is altered, or left out.

        Returns:
            The encoded request and the number of its data points, if known. None if stock must encode it.
        """
        try:
            if not _is_plain(data):
                return None
            return self._encode_data(data)
        except Exception as error:
            report("OTLP metrics encoder", error)
            return None

    def encode_each_of(self, data: Any, check: Callable[[Any], Any]) -> tuple[bytes, None]:
        """Encode a request, where stock's encoder raised for it: every metric by itself, by stock's functions."""
        batch = _SpanBatch(lambda: self._spans(_no_turn, self._stock.nulls))
        for of_resource in data.resource_metrics:
            for of_scope in of_resource.scope_metrics:
                for metric in of_scope.metrics:
                    self._add(batch, of_resource.resource, of_scope.scope, metric, lambda made: check((made, None)))
        return self._assemble(batch), None

    def _encode_data(self, data: Any) -> tuple[bytes, int | None]:
        of_resource = data.resource_metrics[0]
        pace = Pace(self._stretch)
        batch = _SpanBatch(lambda: self._spans(pace.turn, self._stock.nulls))
        points: int | None = 0
        for of_scope in of_resource.scope_metrics:
            encoded = batch.spans_of(of_resource.resource, of_scope.scope)
            for metric in of_scope.metrics:
                is_whole = self._encode_metric(encoded, metric) or self._add(
                    batch, of_resource.resource, of_scope.scope, metric
                )
                of_metric = _points_of(metric.data) if is_whole else None
                points = None if points is None or of_metric is None else points + of_metric
                pace.turn()
        return self._assemble(batch), points


def _is_plain(data: Any) -> bool:
    """Whether the data is of stock's classes and has one resource with different scopes."""
    if type(data) is not MetricsData or len(data.resource_metrics) != 1:
        return False
    of_resource = data.resource_metrics[0]
    if type(of_resource) is not ResourceMetrics:
        return False
    if not all(type(of_scope) is ScopeMetrics for of_scope in of_resource.scope_metrics):
        return False
    scopes = [of_scope.scope for of_scope in of_resource.scope_metrics]
    try:
        return len(set(scopes)) == len(scopes)
    except Exception as error:  # a name that has no hash
        faults.raise_interruption(error)
        return False


def _points_of(data: Any) -> int | None:
    if type(data) not in _KINDS or type(data.data_points) not in {list, tuple}:
        return None
    return len(data.data_points)
