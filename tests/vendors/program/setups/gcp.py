"""Google Cloud's exporters of spans and metrics, with their own clients, to a gRPC server in this process.

The server hands each request on to the HTTP server, as JSON.
"""

from __future__ import annotations

import urllib.request
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.cloud.monitoring_v3 import MetricServiceClient
from google.cloud.monitoring_v3.services.metric_service.transports import MetricServiceGrpcTransport
from google.cloud.monitoring_v3.types import CreateMetricDescriptorRequest, CreateTimeSeriesRequest
from google.cloud.trace_v2 import BatchWriteSpansRequest, TraceServiceClient
from google.cloud.trace_v2.services.trace_service.transports import TraceServiceGrpcTransport
from google.protobuf.empty_pb2 import Empty
from opentelemetry import metrics, trace
from opentelemetry.exporter.cloud_monitoring import CloudMonitoringMetricsExporter
from opentelemetry.exporter.cloud_trace import CloudTraceSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from setups import plain

REQUESTS = {
    "BatchWriteSpans": BatchWriteSpansRequest,
    "CreateMetricDescriptor": CreateMetricDescriptorRequest,
    "CreateTimeSeries": CreateTimeSeriesRequest,
}
server: grpc.Server


class HandOn(grpc.GenericRpcHandler):
    """Takes each method of Google's services."""

    def __init__(self, receiver: str) -> None:
        self.receiver = receiver

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """The handler of the method that is called."""
        method = details.method.rpartition("/")[2]

        def answer(body: bytes, _context: grpc.ServicerContext) -> bytes:
            request = REQUESTS[method].deserialize(body)
            text = REQUESTS[method].to_json(request, use_integers_for_enums=False)
            urllib.request.urlopen(f"{self.receiver}/gcp/{method}", text.encode(), timeout=10).close()  # noqa: S310  # loopback
            if method == "CreateMetricDescriptor":
                return type(request.metric_descriptor).SerializeToString(request.metric_descriptor)
            return Empty().SerializeToString()

        return grpc.unary_unary_rpc_method_handler(answer)


def set_up(receiver: str) -> None:
    """Spans and metrics go to Google's services, logs to `receiver`."""
    global server
    server = grpc.server(ThreadPoolExecutor(2), [HandOn(receiver)])
    channel = grpc.insecure_channel(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    server.start()
    spans = TraceServiceClient(transport=TraceServiceGrpcTransport(channel=channel))
    points = MetricServiceClient(transport=MetricServiceGrpcTransport(channel=channel))
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(CloudTraceSpanExporter("vendors", spans, resource_regex=".*")))
    trace.set_tracer_provider(provider)
    exporter = CloudMonitoringMetricsExporter("vendors", points)
    metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(exporter)]))
    plain.logs(receiver)


def finish() -> None:
    """Send what is left."""
    plain.finish()
    server.stop(None)
