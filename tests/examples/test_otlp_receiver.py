"""The OTLP receiver, fed by the real exporters."""

import gzip
import json

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from examples.demo.services import ask

HEADERS = {"content-type": "application/x-protobuf"}


@pytest.mark.parametrize("compression", list(Compression))
def test_what_the_exporters_send_is_kept(receiver, compression):
    """Spans and metrics of the real exporters come out in the summary, however they were compressed."""
    run = f"kept-{compression.value}"
    tracers, meters = TracerProvider(shutdown_on_exit=False), None
    tracers.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(f"{receiver}/{run}/v1/traces", compression=compression))
    )
    exporter = OTLPMetricExporter(f"{receiver}/{run}/v1/metrics", compression=compression)
    meters = MeterProvider([PeriodicExportingMetricReader(exporter)], shutdown_on_exit=False)
    with tracers.get_tracer("test").start_as_current_span("outer"):
        tracers.get_tracer("test").start_span("inner", attributes={"n": 1, "of": ("a", "b")}).end()
    meters.get_meter("test").create_counter("things", "1").add(3, {"k": "v"})
    tracers.shutdown()
    meters.shutdown()

    sent = ask(receiver, f"{run}/summary")
    spans = {span["name"]: span for span in map(json.loads, sent["spans"])}
    assert spans["inner"]["attributes.n"] == "1"
    assert spans["inner"]["attributes.of"] == '["a", "b"]'
    assert spans["inner"]["parent"] == '"outer (test)"'
    assert (sent["span_count"], sent["metric_series"], sent["log_records"]) == (2, 1, 0)
    assert sent["exports"] == {"traces": 1, "metrics": 1, "logs": 0}


def test_runs_are_compared(receiver):
    """As `otel-fastpath verify` compares them."""
    body = {}
    for name in ("one", "two"):
        request = ExportTraceServiceRequest()
        request.resource_spans.add().scope_spans.add().spans.add(name=name)
        body[name] = request.SerializeToString()
    for run, name in (("first", "one"), ("second", "one"), ("same", "one"), ("other", "two")):
        httpx.post(f"{receiver}/{run}/v1/traces", headers=HEADERS, content=body[name])

    same, other = (ask(receiver, f"compare?stock=first&stock=second&fastpath={run}") for run in ("same", "other"))

    assert same["is_the_same"]
    assert [(each["name"], each["stock"], each["fastpath"]) for each in other["differences"]] == [
        ("one", "1", "0"),
        ("two", "0", "1"),
    ]


@pytest.mark.parametrize(
    ("path", "headers", "content", "status"),
    [
        ("traces", HEADERS, b"\xff\xff", 400),
        ("traces", HEADERS | {"content-encoding": "gzip"}, b"not gzip", 400),
        ("traces", HEADERS | {"content-encoding": "gzip"}, gzip.compress(b"\xff\xff", mtime=0), 400),
        ("traces", HEADERS | {"content-encoding": "gzip"}, gzip.compress(b"cut off", mtime=0)[:-9], 400),
        ("traces", {"content-type": "application/json"}, b"{}", 415),
        ("profiles", HEADERS, b"", 404),
    ],
)
def test_what_cannot_be_decoded_is_refused(receiver, path, headers, content, status):
    """A body that is no export request gets an error and leaves no trace."""
    answer = httpx.post(f"{receiver}/refused/v1/{path}", headers=headers, content=content)
    assert answer.status_code == status
    assert ask(receiver, "refused")["exports"] == {"traces": 0, "metrics": 0, "logs": 0}


def test_a_run_can_be_forgotten(receiver):
    """After DELETE a run has received nothing."""
    httpx.post(f"{receiver}/gone/v1/traces", headers=HEADERS, content=b"")
    assert ask(receiver, "gone")["exports"]["traces"] == 1
    httpx.delete(f"{receiver}/gone")
    assert ask(receiver, "gone")["exports"]["traces"] == 0
