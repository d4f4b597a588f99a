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

from otel_fastpath.otlp.trace_requests import Encoder, _Batch, _RefusedError, _theirs
from otel_fastpath.patching import faults
from otel_fastpath.patching.pausing import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.trace_requests import Upstream

# The types of data that upstream encodes with one message for each data point.
_KINDS: Final = frozenset({ExponentialHistogram, Gauge, Histogram, Sum})


class MetricsEncoder(Encoder):
    """Encodes the metrics that a reader collected; thread-safe.

    Args:
        hot: The module `encoder` or its compiled twin.
        encode_metric: The function of this core that appends a metric.
        upstream: Upstream's functions; here `span` encodes one metric.
    """

    def __init__(self, hot: Any, encode_metric: Callable[[Any, Any], bool], upstream: Upstream) -> None:
        super().__init__(hot, upstream)
        self._encode_metric = encode_metric

    def encode_data(self, data: Any) -> tuple[bytes, int | None] | None:
        """Encode a request.

        Returns:
            The encoded request and the number of its data points, if known. None if upstream must encode it, or raise
            the error.
        """
        try:
            return self._encode_data(data)
        except _RefusedError:
            return None
        except Exception as error:
            faults.absorb("OTLP metrics encoder", error)
            return None

    def _encode_data(self, data: Any) -> tuple[bytes, int | None] | None:
        if type(data) is not MetricsData or len(data.resource_metrics) != 1:
            return None
        of_resource = data.resource_metrics[0]
        if type(of_resource) is not ResourceMetrics:
            return None
        pace = Pace(self._stretch)
        batch = _Batch(lambda: self._spans(pace.turn, self._upstream.nulls))
        scopes = set()
        points: int | None = 0
        for of_scope in of_resource.scope_metrics:
            if type(of_scope) is not ScopeMetrics or of_scope.scope in scopes:
                return None
            scopes.add(of_scope.scope)
            encoded = batch.spans_of(of_resource.resource, of_scope.scope)
            for metric in of_scope.metrics:
                if not self._encode_metric(encoded, metric):
                    encoded.add(_theirs(self._upstream.span, metric))
                of_metric = _points_of(metric.data)
                points = None if points is None or of_metric is None else points + of_metric
                pace.turn()
        return self._assemble(batch), points


def _points_of(data: Any) -> int | None:
    if type(data) not in _KINDS or type(data.data_points) not in {list, tuple}:
        return None
    return len(data.data_points)
