"""What the tests of every database share."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.compiled import hot


@pytest.fixture
def scan(core):
    """The function under test, of each core."""
    return hot("libraries.db.sql", core).scan


class Seen:
    """Where spans and metrics arrive.

    Attributes:
        tracer_provider: For an instrumentor.
        meter_provider: Likewise.
    """

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meter_provider = MeterProvider([self._reader])

    def spans(self):
        """Those that ended since the last call."""
        found = self._exporter.get_finished_spans()
        self._exporter.clear()
        return found

    def names(self):
        """Those of the spans that ended since the last call."""
        return [span.name for span in self.spans()]

    def one(self):
        """The only span that ended since the last call."""
        (span,) = self.spans()
        return span

    def metrics(self):
        """Name -> its data points."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def seen():
    """Where spans and metrics arrive."""
    return Seen()
