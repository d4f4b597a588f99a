"""What the ASGI instrumentations emit, in a form in which two runs can be compared."""

from __future__ import annotations

import pytest
from opentelemetry.instrumentation import _semconv, asgi  # noqa: F401  # imported so that it is patched
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased


class Recorded:
    """Providers, and what was recorded with them.

    Args:
        sampler: Of the root spans.
    """

    def __init__(self, sampler=None):
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(sampler=ParentBased(sampler or ALWAYS_ON))
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])

    @property
    def providers(self):
        """The keyword arguments of an instrumentation."""
        return {"tracer_provider": self.tracers, "meter_provider": self.meters}

    def spans(self):
        """Every span: all but the ids, the times and the stack traces."""
        finished = self.exporter.get_finished_spans()
        names = {span.context.span_id: span.name for span in finished}
        return [
            (
                span.name,
                span.kind,
                list(span.attributes.items()),
                (span.status.status_code, span.status.description),
                [(event.name, _plain(event.attributes)) for event in span.events],
                span.parent and names.get(span.parent.span_id, span.parent.span_id),
                span.parent and span.parent.is_remote,
                (span.instrumentation_scope.name, span.instrumentation_scope.version),
                span.instrumentation_scope.schema_url,
            )
            for span in finished
        ]

    def metrics(self):
        """Every data point: durations without their values."""
        data = self.reader.get_metrics_data()
        points = [
            (scope.scope.name, metric.name, metric.unit, metric.description, *_point(metric, point))
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]
        return sorted(points, key=repr)


def _plain(attributes):
    return [(key, value) for key, value in attributes.items() if key != "exception.stacktrace"]


def _point(metric, point):
    attributes = sorted(point.attributes.items())
    exemplars = bool(point.exemplars)
    if "duration" in metric.name:
        return attributes, point.count, tuple(point.explicit_bounds), exemplars
    if hasattr(point, "count"):
        return attributes, point.count, point.sum, exemplars
    return attributes, point.value, exemplars


@pytest.fixture
def recorded():
    """Makes a `Recorded`."""
    return Recorded


@pytest.fixture(params=["", "http", "http/dup"])
def conventions(request, environ):
    """Each set of semantic conventions in turn: old, new, both."""
    environ.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", request.param)
    environ.setattr(_semconv._OpenTelemetrySemanticConventionStability, "_initialized", False)
    return request.param


@pytest.fixture
def both_ways(instrumentor, core):
    """Runs a function stock and with otel-fastpath, and returns both results."""

    def run(function, *args):
        if instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.uninstrument()
        stock = function(*args)
        instrumentor.instrument(core=core)
        states = {row.name: (row.state.value, row.reason) for row in instrumentor.status()}
        assert states["asgi.request"][0] == "applied", states["asgi.request"]
        return stock, function(*args)

    return run
