"""What is seen for the first time leaves no more memory than stock's own code."""

from __future__ import annotations

import gc
import logging
import tracemalloc

import pytest
from opentelemetry.instrumentation.logging.handler import LoggingHandler
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.trace import TracerProvider


def attribute_sets(count):
    """So many sets of attributes of one counter."""
    provider = MeterProvider(
        [InMemoryMetricReader()],
        shutdown_on_exit=False,
        views=[View(instrument_name="*", aggregation_cardinality_limit=50_000)],
    )
    counter = provider.get_meter("memory").create_counter("requests")
    for number in range(count):
        counter.add(1, {"route": f"/items/{number}", "method": "GET"})
    return provider


def loggers(count):
    """The first records of so many loggers."""
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    exporter = InMemoryLogRecordExporter()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_queue_size=1 << 16))
    handler = LoggingHandler(logger_provider=provider)
    for number in range(count):
        handler.handle(logging.LogRecord(f"logger.{number}", logging.INFO, "a.py", 1, "text", (), None))
    provider.force_flush()
    exporter.clear()
    return provider, handler


def tracers(count):
    """So many tracers with a span each."""
    provider = TracerProvider(shutdown_on_exit=False)
    for number in range(count):
        provider.get_tracer(f"tracer.{number}").start_span("span").end()
    return provider


def size_of(make, count):
    """The bytes that are held for what this makes."""
    make(10)
    gc.collect()
    tracemalloc.start()
    made = make(count)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if hasattr(made, "shutdown"):
        made.shutdown()
    return size


@pytest.mark.slow
@pytest.mark.parametrize(("make", "count"), [(attribute_sets, 20_000), (loggers, 3_000), (tracers, 8_000)])
def test_no_more_memory_than_stock(instrumentor, core, make, count):
    """At most a fifth more."""
    stock = size_of(make, count)
    instrumentor.instrument(core=core)

    ours = size_of(make, count)

    assert ours <= 1.2 * stock
