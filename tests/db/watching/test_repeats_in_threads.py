"""The option `repeats` beside a tracer provider that calls its span processors in other threads."""

from __future__ import annotations

import contextlib
import sqlite3

from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind


def test_nothing_is_counted(instrumentor, core, no_faults):
    """And the provider has no processor of ours: in another thread, the span above a query is not known."""
    several, exporter = ConcurrentMultiSpanProcessor(2), InMemorySpanExporter()
    provider = TracerProvider(active_span_processor=several)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = several._span_processors
    instrumentor.instrument(core=core, sqlite3="on", sqlite3_options="repeats=2", tracer_provider=provider)
    tracer = provider.get_tracer("application")
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        tracer.start_as_current_span("request", kind=SpanKind.SERVER),
    ):
        for number in range(4):
            connection.execute("SELECT ?", (number,))
    instrumentor.uninstrument()

    assert several._span_processors == before
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans if span.name != "CONNECT"] == ["SELECT"] * 4 + ["request"]
    assert [key for span in spans for key in span.attributes if "repeated" in key] == []
    assert no_faults.counts() == {}
    provider.shutdown()
