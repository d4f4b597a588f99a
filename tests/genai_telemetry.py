"""Providers for calls of LLMs that keep what arrives in memory."""

from __future__ import annotations

from types import SimpleNamespace

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.genai.handler import TelemetryHandler


class Telemetry:
    """Providers, what a handler needs, and what arrived."""

    def __init__(self, sampler=None, is_batched=False):
        self.spans, self.logs, self.reader = InMemorySpanExporter(), InMemoryLogRecordExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        kind = BatchSpanProcessor if is_batched else SimpleSpanProcessor
        self.tracers.add_span_processor(kind(self.spans))
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.meters = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)

    def handler(self, hook=None):
        """A handler that uses the providers."""
        return TelemetryHandler(self.tracers, self.meters, self.loggers, hook, "scope", "1.0")

    def seen(self):
        """What arrived, without ids and times."""
        self.tracers.force_flush()
        spans = self.spans.get_finished_spans()
        numbers = {span.context.span_id: number for number, span in enumerate(spans)}
        found = [
            (
                span.name,
                span.kind,
                (span.status.status_code, span.status.description),
                list(span.attributes.items()),
                [(event.name, dict(event.attributes)) for event in span.events],
                numbers.get(span.parent.span_id) if span.parent else None,
            )
            for span in spans
        ]
        records = [each.log_record for each in self.logs.get_finished_logs()]
        events = [(each.event_name, list(each.attributes.items()), numbers.get(each.span_id)) for each in records]
        data = self.reader.get_metrics_data()
        points = [
            (metric.name, metric.unit, sorted(point.attributes.items()), point.count, point.sum)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]
        self.tracers.shutdown()
        return SimpleNamespace(spans=found, events=events, points=points)
