"""Nothing is kept of what was taken off or shut down: instrumenting over and over, providers by the thousand."""

from __future__ import annotations

import gc
import os
import weakref
from types import FunctionType

import pytest
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_fastpath

CYCLES = 200 if os.environ.get("OTEL_FASTPATH_TESTS") == "heavy" else 20


def ours():
    """How many objects there are of classes of ours, and how many functions of ours."""
    for _ in range(3):
        gc.collect()
    made = [each.__module__ if type(each) is FunctionType else type(each).__module__ for each in gc.get_objects()]
    return sum(str(name).startswith("otel_fastpath") for name in made)


def _trace_one():
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    tracer = provider.get_tracer("cycles")
    with tracer.start_as_current_span("outer", attributes={"a": 1}) as span:
        span.add_event("event")
        tracer.start_span("inner").end()
    provider.shutdown()
    return provider


def _measure_one():
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    meter = provider.get_meter("cycles")
    counter = meter.create_counter("counter")
    counter.add(1, {"a": 1})
    bound = otel_fastpath.bind(meter.create_histogram("histogram"), {"a": 1})
    for _ in range(3):
        counter.add(1, {"a": 1})
        bound.record(1)
    reader.get_metrics_data()
    provider.shutdown()
    return provider


def _log_one():
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(InMemoryLogRecordExporter()))
    provider.get_logger("cycles").emit(body="text", attributes={"a": 1})
    provider.shutdown()
    return provider


LIVES = {"traces": _trace_one, "metrics": _measure_one, "logs": _log_one}


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("live", LIVES.values(), ids=LIVES)
def test_providers_by_the_thousand_leave_nothing(live, caplog):
    """Made, used and shut down: no plan, recorder or queue of theirs stays, nor anything else."""
    caplog.set_level("CRITICAL")
    for _ in range(20):
        live()
    before = ours()
    gone = [weakref.ref(live()) for _ in range(1000)]
    after = ours()

    # What stock registers for forks stays in a stock process as well.
    assert after - before < 10
    assert sum(each() is not None for each in gone) == 0


def test_instrumenting_over_and_over_leaves_nothing(instrumentor, core, caplog):
    """On, used and off again."""
    caplog.set_level("CRITICAL")
    meters = NoOpMeterProvider()

    def cycle():
        # Until a provider is set stock's proxies keep every instrument, whoever makes it.
        instrumentor.instrument(core=core, telemetry="full", meter_provider=meters)
        _trace_one()
        _measure_one()
        _log_one()
        instrumentor.uninstrument()

    for _ in range(5):
        cycle()
    before = ours()
    for _ in range(CYCLES):
        cycle()

    assert ours() - before < 10
