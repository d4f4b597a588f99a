"""Properties of the API's and the SDK's objects that other code has replaced are read, and not passed over."""

from __future__ import annotations

import pytest
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, Status, StatusCode

PATCH = "otlp.http_spans"


def _encoded():
    """A span as the exporter encodes it."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    links = [Link(SpanContext(1, 2, is_remote=False), {"key": "value"})]
    with provider.get_tracer("replaced").start_as_current_span("span", links=links) as span:
        span.set_status(Status(StatusCode.ERROR, "bad"))
    content = trace_exporter.encode_spans(exporter.get_finished_spans()).SerializePartialToString()
    return ExportTraceServiceRequest.FromString(content).resource_spans[0].scope_spans[0].spans[0]


CASES = [
    (Status, "description", "replaced", lambda span: span.status.message),
    (Link, "attributes", {"other": "value"}, lambda span: {each.key: "value" for each in span.links[0].attributes}),
    (SpanContext, "is_remote", True, lambda span: bool(span.links[0].flags & 0x200)),
]


@pytest.mark.parametrize(("owner", "name", "value", "read"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_property_is_replaced_later(instrumentor, core, monkeypatch, owner, name, value, read):
    """Stock's encoder runs, which reads it."""
    instrumentor.instrument(core=core, disabled="exceptions")
    before = read(_encoded())
    monkeypatch.setattr(owner, name, property(lambda _self: value))

    assert before != value
    assert read(_encoded()) == value


def test_a_property_was_replaced_before(instrumentor, core, monkeypatch):
    """The status names it."""
    monkeypatch.setattr(Status, "description", property(lambda _self: "replaced"))
    instrumentor.instrument(core=core, disabled="exceptions")

    assert _encoded().status.message == "replaced"
    [reason] = [row.reason for row in instrumentor.status() if row.name == PATCH]
    assert "opentelemetry.trace.status:Status.description" in reason
