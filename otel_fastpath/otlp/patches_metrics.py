"""OTLP export of metrics: `encode_metrics` of the exporters of `opentelemetry-exporter-otlp-proto-http` and `-grpc`.

Stock: 124,000 instructions for a histogram's data point with three attributes, holding the GIL for the whole
collection. Here the points are encoded directly as bytes, and other threads can run in between.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.compiled import hot
from otel_fastpath.otlp.exporters import COMMON, EncodedRequest, patch, replace, stock
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK, sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.metrics_requests import MetricsEncoder
    from otel_fastpath.settings import Config

_METRICS_NAMES: Final = ("_encode_exemplars", "_encode_metric", "_encode_resource_metrics", "encode_metrics")
_RESTS_ON: Final = (
    *(f"{COMMON}.metrics_encoder:{name}" for name in _METRICS_NAMES),
    "opentelemetry.sdk.metrics._internal.exemplar.exemplar:Exemplar",
    "opentelemetry.sdk.metrics._internal.point:HistogramDataPoint",
    "opentelemetry.sdk.metrics._internal.point:NumberDataPoint",
)


_COUNT: Final = "opentelemetry.exporter.otlp.proto.http.metric_exporter:_count_data_points"


def _request_class() -> Any:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest  # noqa: PLC0415  # only where it is being patched

    return ExportMetricsServiceRequest


def _stock() -> Any:
    """Stock's functions, looked up at each call."""
    from opentelemetry.exporter.otlp.proto.common._internal import metrics_encoder  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.proto.metrics.v1 import metrics_pb2 as pb2  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.altering import metric_fields as metrics  # noqa: PLC0415  # likewise

    def encode(metric: Any) -> Any:
        encoded = pb2.Metric(name=metric.name, description=metric.description, unit=metric.unit)
        vars(metrics_encoder)["_encode_metric"](metric, encoded)
        return encoded

    return stock(_request_class(), pb2.ResourceMetrics, pb2.ScopeMetrics, encode, metrics.METRIC, metrics.attributes)


@functools.cache
def _encoder(implementation: str) -> MetricsEncoder:
    from otel_fastpath.otlp.metrics_requests import MetricsEncoder  # noqa: PLC0415  # it imports the SDK

    spans = hot.otlp_encoder
    metrics: Any = spans
    if not compiled.is_compiled(implementation):
        from otel_fastpath.otlp import encoder_metrics as metrics  # noqa: PLC0415  # compiled, they are one module
    return MetricsEncoder(spans, metrics.encode_metric, _stock())


def _make(original: Any, wrap: Callable[[tuple[bytes, int | None]], Any]) -> Any:
    from opentelemetry.exporter.otlp.proto.common._internal import metrics_encoder  # noqa: PLC0415  # likewise

    encoder = _encoder(compiled.implementation()[0])
    return replace(original, metrics_encoder, _METRICS_NAMES, encoder.encode_data, encoder.encode_each_of, wrap)


def _make_http(original: Any, _settings: Config) -> Any:
    request_class = _request_class()
    return _make(original, lambda encoded: EncodedRequest(request_class, *encoded))


def _make_grpc(original: Any, _settings: Config) -> Any:
    # grpc's serializer is a method of the message class, so it needs such a message.
    parse = _request_class().FromString
    return _make(original, lambda encoded: parse(encoded[0]))


def _patch(transport: str, why: str, make: Callable[[Any, Config], Any], budget: str) -> Patch:
    return patch(transport, "metrics", "metric_exporter:encode_metrics", why, make, _RESTS_ON, budget)


def _make_count(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def _count_data_points(export_request: Any) -> Any:
        points = export_request.points() if type(export_request) is EncodedRequest else None
        return original(export_request) if points is None else points

    return _count_data_points


PATCHES: Final = (
    _patch(
        "http",
        "Encoding a histogram's data point takes 124,000 instructions; here its bytes are written directly.",
        _make_http,
        "OTLP, 128 histogram points",
    ),
    Patch(
        name="otlp.http_metrics_count",
        target=_COUNT,
        why="The exporter counts the data points of the request, whose bytes would have to be parsed only for that.",
        make=_make_count,
        requires=(*SDK, "opentelemetry-exporter-otlp-proto-http>=1.44,<2"),
        sources=sources(_COUNT),
        budgets=("OTLP, 128 histogram points, counted",),
    ),
    _patch(
        "grpc",
        "The same encoder as over HTTP; its bytes are then parsed into the message that grpc needs.",
        _make_grpc,
        "OTLP over grpc, 128 histogram points",
    ),
)
