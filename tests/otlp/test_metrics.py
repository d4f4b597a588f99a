"""What the HTTP exporter of metrics does with a request that is bytes already."""

from __future__ import annotations

import pytest
import requests
from opentelemetry.exporter.otlp.proto.http import metric_exporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View

from otel_fastpath.otlp.exporters import EncodedRequest

# Since 1.44.
COUNT = getattr(metric_exporter, "_count_data_points", None)
counted = pytest.mark.skipif(COUNT is None, reason="this release does not count")


class Kept(requests.adapters.BaseAdapter):
    """Answers for a server, and keeps what was posted."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def send(self, request, **_settings):
        """Take it."""
        self.bodies.append(request.body)
        response = requests.Response()
        response.status_code = 200
        response.request = request
        response.raw = None
        return response

    def close(self):
        """Nothing to close."""


@pytest.fixture
def data(instrumented):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """What was collected of all kinds of points: nine of them."""
    reader = InMemoryMetricReader()
    views = [View(instrument_name="exponential", aggregation=ExponentialBucketHistogramAggregation())]
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False, views=views)
    for scope in ("a", "b"):
        meter = provider.get_meter(scope)
        meter.create_gauge("gauge").set(1)
        for route in ("/a", "/b"):
            meter.create_counter("counter").add(1, {"route": route})
    for route in ("/a", "/b"):
        meter.create_histogram("exponential").record(1.5, {"route": route})
    meter.create_histogram("histogram").record(1.5)
    return reader.get_metrics_data()


@pytest.mark.proves("otlp.http_metrics_count")
@counted
def test_the_request_knows_how_many_points_it_has(data):
    """As many as are in its message, which is not parsed for that; and the message's own where somebody has it."""
    request = metric_exporter.encode_metrics(data)

    assert metric_exporter._count_data_points(request) == 9
    assert request._message is None
    assert COUNT(ExportMetricsServiceRequest.FromString(request.SerializeToString())) == 9
    del request.resource_metrics[0].scope_metrics[0]
    assert metric_exporter._count_data_points(request) == 6


@counted
def test_a_message_is_counted_by_stock(data):
    """Of a request that is stock's own, too."""
    message = ExportMetricsServiceRequest.FromString(metric_exporter.encode_metrics(data).SerializeToString())

    assert metric_exporter._count_data_points(message) == 9


@pytest.mark.proves("otlp.grpc_metrics")
def test_grpc_gets_the_message_that_it_gets_without_us(data):
    """Of all kinds of points, as an object of the class that grpc takes."""
    grpc_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc.metric_exporter")
    from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics as stock

    message = grpc_exporter.encode_metrics(data)

    assert grpc_exporter.encode_metrics is not stock
    assert type(message) is ExportMetricsServiceRequest
    assert message == stock(data)


def test_exporting_parses_nothing(data, monkeypatch):
    """The exporter sends the bytes as they were encoded."""
    parsed = []
    monkeypatch.setattr(EncodedRequest, "parsed", parsed.append)
    adapter, session = Kept(), requests.Session()
    session.mount("http://", adapter)
    exporter = metric_exporter.OTLPMetricExporter("http://localhost/v1/metrics", session=session)

    assert exporter.export(data) is metric_exporter.MetricExportResult.SUCCESS
    assert adapter.bodies == [metric_exporter.encode_metrics(data).SerializeToString()]
    assert parsed == []
