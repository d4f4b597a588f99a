"""Encoding and sending: OTLP over HTTP, answered in the process, and the encoders by themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import requests
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, StatusCode

from faultcheck.judge import TWICE
from faultcheck.workloads.base import Workload
from faultcheck.workloads.spans import ATTRIBUTES

if TYPE_CHECKING:
    from faultcheck.host import Host

_URL = "http://localhost:9/v1/"


class _Server(requests.adapters.BaseAdapter):
    """Takes what is posted, in the place of a server."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[tuple[str, bytes]] = []

    def send(self, request: Any, **_settings: Any) -> Any:
        """Take it."""
        self.bodies.append((request.url.rpartition("/")[2], request.body))
        response = requests.Response()
        response.status_code, response.request, response.raw = 200, request, None
        return response

    def close(self) -> None:
        """Nothing to close."""


class Encoding(Workload):
    """Spans, metrics and log records through stock's exporters, with flushes that the host asks for."""

    def prepare(self) -> None:
        """The three exporters, to one server."""
        self.server = _Server()
        session = requests.Session()
        session.trust_env = False
        session.mount("http://", self.server)
        exporters = [
            OTLPSpanExporter(f"{_URL}traces", session=session),
            OTLPMetricExporter(f"{_URL}metrics", session=session),
            OTLPLogExporter(f"{_URL}logs", session=session),
        ]
        settings: Any = {"shutdown_on_exit": False, "resource": Resource({"service.name": "encoding"})}
        never = {"schedule_delay_millis": 3_600_000}
        self.tracers, self.loggers = TracerProvider(**settings), LoggerProvider(**settings)
        self.tracers.add_span_processor(BatchSpanProcessor(exporters[0], **never))
        reader = PeriodicExportingMetricReader(exporters[1], export_interval_millis=3_600_000)
        views = [View(instrument_name="exponential", aggregation=ExponentialBucketHistogramAggregation())]
        self.meters = MeterProvider([reader], views=views, **settings)
        self.loggers.add_log_record_processor(BatchLogRecordProcessor(exporters[2], **never))

    def begin(self) -> None:
        """The instruments."""
        self.tracer, self.logger = self.tracers.get_tracer("encoding", "1"), self.loggers.get_logger("encoding")
        meter = self.meters.get_meter("encoding")
        self.counter, self.gauge = meter.create_counter("counter"), meter.create_gauge("gauge")
        self.histograms = [meter.create_histogram(name) for name in ("plain", "exponential")]

    def run(self, host: Host) -> None:
        """Make some of each, and flush."""
        host.step("made", self._make)
        for name, each in (("spans", self.tracers), ("metrics", self.meters), ("logs", self.loggers)):
            host.step(f"{name} flushed", each.force_flush)

    def _make(self) -> None:
        with self.tracer.start_as_current_span("outer", attributes=ATTRIBUTES) as span:
            links = [Link(span.get_span_context(), {"a": 1})]
            inner = self.tracer.start_span("inner", links=links, attributes={"nested": [1.5, 2.5], "text": "é"})
            inner.add_event("event", {"a": True, "b": "x"})
            inner.record_exception(ValueError("recorded"))
            inner.set_status(StatusCode.ERROR, "described")
            inner.end()
            for each in (*self.histograms, self.gauge):
                getattr(each, "set" if each is self.gauge else "record")(1.5, {"route": "/a", "sizes": (1, 2)})
            self.counter.add(1, {"route": "/a"})
            record = LogRecord(body={"a": [1, "b"]}, severity_number=SeverityNumber.INFO, attributes={"a": 1})
            self.logger.emit(record)

    def settle(self) -> None:
        """Count what the server got."""
        for each in (self.tracers, self.loggers):
            each.force_flush()
        seen: Counter[bytes] = Counter()
        for kind, body in self.server.bodies:
            self.telemetry.more.update(_READ[kind](body, seen))
        self.telemetry.more[TWICE] += sum(times - 1 for times in seen.values())
        self.server.bodies.clear()


def _spans(body: bytes, seen: Counter[bytes]) -> Counter[str]:
    found: Counter[str] = Counter()
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                seen[span.span_id] += 1
                found[f"span {span.name}"] += 1
                found[f"  attributes of {span.name}: {sorted(str(each) for each in span.attributes)}"] += 1
                found.update(f"event {event.name} of {span.name}" for event in span.events)
                found.update(f"link of {span.name}" for _ in span.links)
    return found


def _metrics(body: bytes, _seen: Counter[bytes]) -> Counter[str]:
    found: Counter[str] = Counter()
    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for scope in resource.scope_metrics:
            found.update(f"metric {metric.name} as {metric.WhichOneof('data')}" for metric in scope.metrics)
    return found


def _logs(body: bytes, _seen: Counter[bytes]) -> Counter[str]:
    found: Counter[str] = Counter()
    for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
        for scope in resource.scope_logs:
            found["log record"] += len(scope.log_records)
    return found


_READ = {"traces": _spans, "metrics": _metrics, "logs": _logs}
