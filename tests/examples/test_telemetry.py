"""The normalised summary: what it keeps of the telemetry, and what it puts aside."""

import json

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from examples.telemetry import summarise


def spans_of(record):
    """The export request of the spans that `record(tracer)` makes."""
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    record(provider.get_tracer("test", "1"))
    return encode_spans(exporter.get_finished_spans())


def summary_of(*requests, metrics=()):
    """The summary of export requests."""
    return summarise([request.SerializeToString() for request in requests], metrics)


def one_trace(tracer):
    """A span with everything that a span can have, and a child that failed."""
    with tracer.start_as_current_span("outer", kind=SpanKind.SERVER, attributes={"gen_ai.response.id": "r"}) as outer:
        outer.add_event("happened", {"n": 1})
        with pytest.raises(ValueError, match="no"), tracer.start_as_current_span("inner"):
            raise ValueError("no")


def test_equal_work_gives_equal_summaries():
    """Two traces of the same work have one summary, although their ids and times differ."""
    assert summary_of(spans_of(one_trace)) == summary_of(spans_of(one_trace))


def test_a_span_is_kept_with_all_it_has():
    """Kind, place, status, events and attributes of a span are in its line."""
    spans = {span["name"]: span for span in map(json.loads, summary_of(spans_of(one_trace))["spans"])}
    assert spans["outer"]["kind"] == "SPAN_KIND_SERVER"
    assert spans["outer"]["attributes"] == {"gen_ai.response.id": "<str>"}
    assert spans["outer"]["events"] == [{"name": "happened", "attributes": {"n": 1}}]
    assert spans["inner"]["place"] == "(root) > outer"
    assert spans["inner"]["status"] == ["STATUS_CODE_ERROR", "ValueError: no"]
    assert spans["inner"]["events"][0]["attributes"]["exception.type"] == "ValueError"


def test_a_stack_trace_keeps_the_frames_of_the_application_only():
    """Frames of OpenTelemetry and of ours are left out of a stack trace, those of the application stay."""
    spans = {span["name"]: span for span in map(json.loads, summary_of(spans_of(one_trace))["spans"])}
    stack = spans["inner"]["events"][0]["attributes"]["exception.stacktrace"]
    assert "opentelemetry" not in stack
    assert 'raise ValueError("no")' in stack
    assert stack.startswith("Traceback (most recent call last):\n  File")
    assert stack.endswith("ValueError: no")


def test_the_same_callers_have_the_same_digest():
    """The digest of the callers depends on the trace and the span that a request came with, and on no more."""

    def called_with(trace_id):
        context = SpanContext(trace_id, 7, is_remote=True, trace_flags=TraceFlags(1))
        parent = set_span_in_context(NonRecordingSpan(context))
        return summary_of(spans_of(lambda tracer: tracer.start_span("served", parent).end()))

    assert called_with(5) == called_with(5)
    assert called_with(5)["callers"] != called_with(6)["callers"]
    assert json.loads(next(iter(called_with(5)["spans"])))["place"] == "(caller)"


def test_spans_that_cannot_be_are_faults():
    """A span id sent twice, an end before the start, a parent in another trace and a short id are each counted."""
    request = spans_of(one_trace)
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


def test_metrics_are_kept_without_what_depends_on_time():
    """A duration keeps its count, a number of tokens its sum too, and the last of several exports is what counts."""

    def metrics_of(seconds):
        reader = InMemoryMetricReader()
        provider = MeterProvider([reader], shutdown_on_exit=False)
        meter = provider.get_meter("test")
        duration, tokens = meter.create_histogram("duration", "s"), meter.create_histogram("tokens", "{token}")
        active = meter.create_up_down_counter("active")
        sent = []
        for _ in range(2):
            active.add(1)
            duration.record(seconds)
            tokens.record(20)
            active.add(-1)
            sent.append(encode_metrics(reader.get_metrics_data()).SerializeToString())
        provider.shutdown()
        return summary_of(metrics=sent)

    assert metrics_of(0.001) == metrics_of(3.0)
    counted = {json.loads(line)["name"]: values for line, values in metrics_of(1.0)["metrics"].items()}
    assert counted["duration"]["count"] == 2
    assert "sum" not in counted["duration"]
    assert counted["tokens"]["sum"] == 40
    assert counted["active"]["value"] == 0
    assert metrics_of(1.0)["metric_points"] == 6
