"""Runs requests through the stock instrumentations of HTTP servers without this package and with each core."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import django
import pytest
from django.conf import settings
from django.test import override_settings
from opentelemetry import context, metrics
from opentelemetry.instrumentation import aiohttp_server
from opentelemetry.instrumentation._semconv import (
    _OpenTelemetrySemanticConventionStability,
    _OpenTelemetryStabilitySignalType,
    _StabilityMode,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.http import redact_query_parameters

sys.path.insert(0, str(Path(__file__).parent))

MODES = (_StabilityMode.DEFAULT, _StabilityMode.HTTP, _StabilityMode.HTTP_DUP)


def _shown(name, value):
    """An attribute's value; stock's WSGI shows what is redacted elsewhere."""
    return redact_query_parameters(f"/?{value}")[2:] if name == "url.query" else value


class Telemetry:
    """Providers, and what they were given."""

    def __init__(self):
        self.exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(shutdown_on_exit=False)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self.reader], shutdown_on_exit=False)

    def spans(self):
        """The spans that have ended."""
        return self.exporter.get_finished_spans()

    def seen(self):
        """The spans in order and the points of the metrics, without ids and times."""
        spans = [
            (
                span.name,
                span.kind.name,
                None if span.parent is None else span.parent.is_remote and span.parent.trace_id,
                [(name, _shown(name, value)) for name, value in span.attributes.items()],
                span.status.status_code.name,
                span.status.description,
                [(event.name, event.attributes.get("exception.type")) for event in span.events],
                span.instrumentation_scope.name,
            )
            for span in self.spans()
        ]
        return spans, self.points()

    def points(self):
        """The points of the metrics, each as a text."""
        data = self.reader.get_metrics_data()
        scopes = [] if data is None else data.resource_metrics[0].scope_metrics
        return sorted(
            json.dumps(
                [metric.name, metric.unit, dict(point.attributes), getattr(point, "value", getattr(point, "count", 0))],
                sort_keys=True,
            )
            for scope in scopes
            for metric in scope.metrics
            for point in metric.data.data_points
        )


@pytest.fixture(autouse=True)
def own_context():
    """Each test begins in an empty context: stock leaves spans of requests that failed in a hook in it."""
    context.attach(context.Context())


@pytest.fixture
def configured(request):
    """Django with the routes of the test's file."""
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)
        django.setup()
    # Other tests of this process have routes of their own.
    with override_settings(ROOT_URLCONF=request.module.__name__):
        yield


@pytest.fixture
def with_aiohttp(monkeypatch):
    """Runs a coroutine while aiohttp.web is instrumented: `with_aiohttp(telemetry, coroutine)` returns its result."""

    def run(telemetry, coroutine):
        monkeypatch.setattr(metrics, "get_meter", lambda *args, **_: telemetry.meter_provider.get_meter(*args[:2]))
        for name in ("duration_histogram_old", "duration_histogram_new", "meter_old", "meter_new"):
            setattr(aiohttp_server, name, None)
        instrumentor = aiohttp_server.AioHttpServerInstrumentor()
        instrumentor.instrument(tracer_provider=telemetry.tracer_provider)
        try:
            return asyncio.run(coroutine)
        finally:
            instrumentor.uninstrument()

    return run


@pytest.fixture(params=MODES, ids=lambda mode: mode.value)
def mode(request, monkeypatch):
    """Each mode of the semantic conventions in turn."""
    kind = _OpenTelemetrySemanticConventionStability
    monkeypatch.setattr(kind, "_initialized", True)
    mapping = {_OpenTelemetryStabilitySignalType.HTTP: request.param}
    monkeypatch.setattr(kind, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", mapping)
    return request.param


@pytest.fixture
def both(instrumentor, core, no_faults):
    """Compare what a function does with new `Telemetry`, and returns, without this package and with it."""

    def compare(run):
        if instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.uninstrument()
        expected = Telemetry()
        context.attach(context.Context())
        returned = run(expected)
        instrumentor.instrument(core=core, disabled="exceptions")
        try:
            found = Telemetry()
            context.attach(context.Context())
            assert run(found) == returned
        finally:
            instrumentor.uninstrument()
        assert found.seen() == expected.seen()
        assert no_faults.counts() == {}
        return found

    return compare


@pytest.fixture
def ours(instrumentor, core):
    """This package, instrumented with each core in turn."""
    instrumentor.instrument(core=core, disabled="exceptions")
    return instrumentor


@pytest.fixture
def telemetry():
    """Providers for one test."""
    return Telemetry()
