"""The summary of a run: how much was sent, and what no span may be."""

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from examples.telemetry import summarise


def one_trace(response):
    """The export request of a span with an id that varies, and a child that failed."""
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test", "1")
    outer = tracer.start_as_current_span("outer", kind=SpanKind.SERVER, attributes={"gen_ai.response.id": response})
    with outer, pytest.raises(ValueError, match="no"), tracer.start_as_current_span("inner"):
        raise ValueError("no")
    return encode_spans(exporter.get_finished_spans())


def summary_of(*requests):
    """The summary of export requests."""
    bodies = {"traces": [request.SerializeToString() for request in requests]}
    return summarise(lambda signal: bodies.get(signal, []))


def test_equal_work_gives_equal_summaries():
    """Two traces of the same work have one summary, although ids and times differ; one more span is a difference."""
    one = summary_of(one_trace("a"))

    assert one == summary_of(one_trace("b"))
    assert one["span_count"] == 2
    assert one["faults"] == {}
    assert one["spans"] != summary_of(one_trace("a"), one_trace("b"))["spans"]


def test_spans_that_cannot_be_are_faults():
    """A span id sent twice, an end before the start, a parent in another trace and a short id are each counted."""
    request = one_trace("a")
    found = request.resource_spans[0].scope_spans[0].spans
    inner, outer = found
    assert (inner.name, outer.name) == ("inner", "outer")
    found.append(outer)
    inner.end_time_unix_nano = inner.start_time_unix_nano - 1
    inner.trace_id = b"short"
    assert summary_of(ExportTraceServiceRequest.FromString(request.SerializeToString()))["faults"] == {
        "id of a wrong size": 1,
        "span id sent twice": 1,
        "span in another trace than its parent": 1,
        "span that ends before it starts": 1,
    }
