"""Threads that use what is kept for later calls: encoded spans, plans of wrapped calls, the global propagator."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from opentelemetry import propagate
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath import compiled
from otel_fastpath.db import query_plans
from otel_fastpath.db.options import DatabaseOptions
from otel_fastpath.db.server_attributes import POSTGRESQL, Server
from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching.cache import Cache
from otel_fastpath.wrapping import call
from otel_fastpath.wrapping.labels import Labels
from otel_fastpath.wrapping.library import Setup

THREADS = 4


def in_threads(work):
    """Run `work(number)` in threads, switching as often as the interpreter lets them; returns what they return."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(work, range(THREADS)))
    finally:
        sys.setswitchinterval(before)


@pytest.fixture
def fast(core, monkeypatch):
    """The instrumentor, with each core in turn."""
    monkeypatch.setenv("OTEL_FASTPATH_CORE", core)
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument()
    yield instrumentor
    instrumentor.uninstrument()


def test_a_cache_stays_within_its_bounds():
    """Threads that add entries at the same time: no entry is kept without being counted."""
    cache = Cache(64 * 1024, 1024)
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    # With the interpreter lock, nothing guards a cache: a thread that empties it can be interrupted, while others
    # fill it once more.
    most = 64 * 1024 // 100 * (2 if has_lock else 1)

    def work(number):
        for index in range(5000):
            cache.keep((number, index), index, 100)
            assert len(cache.items) <= most

    in_threads(work)

    assert cache._bytes >= 100 * len(cache.items)
    if not has_lock:
        assert cache._bytes == 100 * len(cache.items)


@pytest.mark.usefixtures("fast")
def test_encoders_share_their_caches():
    """Spans that several threads encode at the same time become the same bytes as in one thread."""
    trace_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    for number in range(200):
        with tracer.start_as_current_span(
            f"span {number % 20}", attributes={f"key {number}": number, "real": 0.5}
        ) as span:
            span.add_event("event", {"number": number})
    spans = list(exporter.get_finished_spans())

    encoded = in_threads(lambda _: [trace_exporter.encode_spans(spans).SerializePartialToString() for _ in range(5)])

    assert len({each for of_thread in encoded for each in of_thread}) == 1


@pytest.mark.usefixtures("fast")
def test_encoders_of_metrics_share_their_caches():
    """So do metrics, of which each point has attributes of its own, and each histogram other bounds."""
    metric_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("test")
    for number in range(20):
        bounds = [float(number), number + 1.5]
        histogram = meter.create_histogram(f"histogram_{number}", explicit_bucket_boundaries_advisory=bounds)
        for each in range(20):
            histogram.record(each, {f"key {number}": each, "real": 0.5})
    data = reader.get_metrics_data()

    encoded = in_threads(lambda _: [metric_exporter.encode_metrics(data).SerializePartialToString() for _ in range(5)])

    assert len({each for of_thread in encoded for each in of_thread}) == 1


@pytest.mark.usefixtures("fast")
def test_encoders_of_logs_share_their_caches():
    """So do log records."""
    log_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http._log_exporter")
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("test")
    for number in range(200):
        logger.emit(body=f"text {number % 20}", attributes={f"key {number}": number, "list": [number, 1]})
    records = list(exporter.get_finished_logs())

    encoded = in_threads(lambda _: [log_exporter.encode_logs(records).SerializePartialToString() for _ in range(5)])

    assert len({each for of_thread in encoded for each in of_thread}) == 1


@pytest.mark.usefixtures("fast")
def test_plans_of_queries():
    """Threads run more texts than a server's plans keep: each call gets the plan of its text."""
    provider = TracerProvider(shutdown_on_exit=False)
    setup = Setup(providers={"tracer_provider": provider, "meter_provider": NoOpMeterProvider()})
    active = query_plans.Active(setup, "test", DatabaseOptions())
    behind = " -- ".ljust(30_000, "x")
    texts = [f"CALL t{number}(){behind}" for number in range(150)]

    def work(number):
        for index in range(160):
            which = (index * (number + 1)) % len(texts)
            # Servers come and go: the plans of one live as long as something refers to them.
            made = active.plans_of(Server(POSTGRESQL, ("host", index % 3)))
            assert made.plan(texts[which]).name == f"CALL t{which}"
            assert made.plan(texts[which], "PREPARE ").name == f"PREPARE CALL t{which}"

    in_threads(work)


@pytest.mark.usefixtures("fast")
def test_wrapped_calls_while_patches_come_and_go(fast):
    """Each call makes its span and its measurement, also while its tracer is patched and put back."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    histogram = MeterProvider([reader], shutdown_on_exit=False).get_meter("test").create_histogram("seconds")
    telemetry = call.WrapperTelemetry(provider.get_tracer("test"))
    series = call.CallDurations(histogram, {"kind": "test"})

    def work(number):
        for _ in range(3 if number == 0 else 500):
            if number == 0:
                fast.uninstrument()
                fast.instrument()
            else:
                made = call.new()
                call.begin(made, telemetry, "call", {"number": number}, series)
                made.end()

    in_threads(work)

    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    assert len(exporter.get_finished_spans()) == scope.metrics[0].data.data_points[0].count == 500 * (THREADS - 1)


@pytest.mark.usefixtures("fast")
def test_series_of_openai_calls_are_made_once_for_all_threads(core):
    """Threads that measure calls of the same new kinds lose no measurement."""
    prepared = compiled.load("genai.openai.prepared_calls", core)
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("test")
    histograms = tuple(meter.create_histogram(name) for name in ("durations", "tokens", "first", "next"))
    names = ("content", "error", "fixed", "has_result", "is_fetched", "is_inference", "more", "nests", "options")
    endpoint = SimpleNamespace(**dict.fromkeys((*names, "started")), request={}, result=(), series=("model",))
    endpoint.has_result = endpoint.is_fetched = endpoint.is_inference = False
    target = prepared.Target(endpoint, "chat", {"operation": "chat"}, histograms, Labels("test", (), ()))

    def work(_):
        for index in range(2000):
            found = target.series({"model": f"model {index % 100}"}, ("model",))
            found.duration.record(1)
            found.next_chunk.record(1)

    in_threads(work)

    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    counted = {metric.name: sum(point.count for point in metric.data.data_points) for metric in scope.metrics}
    assert counted == {"durations": 2000 * THREADS, "next": 2000 * THREADS}


def test_the_global_propagator_changes(core):
    """Threads read the remote parent of requests while another one sets another propagator: it is always read."""
    parents = compiled.load("http.servers.parents", core)
    before = propagate.get_global_textmap()
    both = [
        CompositePropagator([TraceContextTextMapPropagator()]),
        CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()]),
    ]
    environ = {"HTTP_TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}

    def work(number):
        for index in range(2000):
            if number == 0:
                propagate.set_global_textmap(both[index % 2])
            else:
                assert len(parents.remote(environ)) == 1

    try:
        in_threads(work)
    finally:
        propagate.set_global_textmap(before)
