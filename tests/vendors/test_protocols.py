"""The vendors' protocols are decoded: what is sent becomes items, and spans are known by their ids."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from vendor_checks.items import SpanName
from vendor_checks.protocols import answer_to, decode
from vendor_checks.protocols.msgpack import unpack
from vendor_checks.receiver import Request

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def items(path, body):
    """Those of a request, without the one for the request itself."""
    return decode(Request("POST", path, {}, body if isinstance(body, bytes) else json.dumps(body).encode()))[1:]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\xc0", None),
        (b"\x93\x01\xff\xc3", [1, -1, True]),
        (b"\x82\xa1a\xcd\x01\x00\xa1b\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00", {"a": 256, "b": 0.5}),
        (b"\xd9\x02hi", "hi"),
        (b"\xdc\x00\x01\xcf" + b"\xff" * 8, [2**64 - 1]),
        (b"\xc4\x01\xff", "ff"),
    ],
)
def test_messagepack(data, value):
    """Each kind of number and length."""
    assert unpack(data) == value


@pytest.mark.parametrize("data", [b"\xc1", b"\x01\x02"])
def test_what_is_no_messagepack_is_refused(data):
    """An unknown byte, and what is left over."""
    with pytest.raises(ValueError, match="byte"):
        unpack(data)


def test_datadog():
    """The ids become those of OpenTelemetry, with the half that is a tag."""
    ids = b"\xa8trace_id\xcf" + bytes.fromhex(TRACE[16:]) + b"\xa7span_id\xcf" + bytes.fromhex(SPAN)
    meta = b"\xa4meta\x81\xa9_dd.p.tid\xb0" + TRACE[:16].encode()
    (item,) = items("/v0.4/traces", b"\x91\x91\x84" + ids + b"\xa8resource\xa4root" + meta)

    assert item.spans == (SpanName(TRACE, SPAN, "root"),)
    assert item.value["parent_id"] == "0" * 16


def test_azure():
    """A span, and a metric of the distribution's own, whose value differs from run to run."""
    tags = {"ai.operation.id": TRACE}
    span = {"data": {"baseType": "RequestData", "baseData": {"id": SPAN, "name": "root"}}, "tags": tags}
    metric = {"data": {"baseType": "MetricData", "baseData": {"metrics": [{"name": "memory", "value": 7}]}}}

    found = items("/v2.1/track", [span, metric])

    assert [(item.kind, item.name) for item in found] == [
        ("Azure RequestData", "root"),
        ("Azure MetricData", '["memory", null]'),
    ]
    assert found[0].spans == (SpanName(TRACE, SPAN, "root"),)
    assert "7" not in json.dumps(found[1].value)
    assert json.loads(answer_to(Request("POST", "/v2.1/track", {}, b"[{}, {}]"))[2])["itemsAccepted"] == 2


def test_new_relic():
    """Events and metrics are compared, what is said of the process is not."""
    path = "/agent_listener/invoke_raw_method?run_id=1&method="
    event = [{"type": "Span", "traceId": TRACE, "guid": SPAN, "name": "root"}, {}, {}]

    (span,) = items(f"{path}span_event_data", ["1", {}, [event]])
    (metric,) = items(f"{path}metric_data", ["1", 0, 1, [[{"name": "Errors/all"}, [2, 0.5]]]])

    assert span.spans == (SpanName(TRACE, SPAN, "root"),)
    assert metric.value == {"about": {"name": "Errors/all"}, "calls": 2}
    assert items(f"{path}update_loaded_modules", ["Jars", [["otel-fastpath", "1", {}]]]) == []
    assert b"redirect_host" in answer_to(Request("POST", f"{path}preconnect", {}, b""))[2]


def test_google_cloud():
    """The ids are part of a span's name."""
    span = {"name": f"projects/p/traces/{TRACE}/spans/{SPAN}", "displayName": {"value": "root"}}
    point = {"metric": {"type": "orders", "labels": {"tier": "gold"}}, "points": []}

    (found,) = items("/gcp/BatchWriteSpans", {"spans": [span]})
    (metric,) = items("/gcp/CreateTimeSeries", {"timeSeries": [point]})

    assert found.spans == (SpanName(TRACE, SPAN, "root"),)
    assert metric.name == '["orders", {"tier": "gold"}]'


def test_otlp_as_json():
    """Where ids are hexadecimal digits."""
    span = {"traceId": TRACE, "spanId": SPAN, "parentSpanId": "", "name": "root", "startTimeUnixNano": "7"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    request = Request("POST", "/v1/traces", {"content-type": "application/json"}, body)

    _, item = decode(request)

    assert item.spans == (SpanName(TRACE, SPAN, "root"),)
    assert (item.value["parent"], item.value["start"]) == ("", 7)


def test_a_page_of_prometheus():
    """What others measure is compared without its value."""
    found = items("/page", b'# TYPE x gauge\nprogram_orders{a="b"} 3.0\nprocess_cpu_seconds_total 0.25\n')

    assert [item.value for item in found] == [
        "# TYPE x gauge",
        'program_orders{a="b"} 3.0',
        {"series": "process_cpu_seconds_total", "value": "<of others>"},
    ]


def test_a_profile_names_the_spans_of_its_samples():
    """Whose ids are in the table of strings."""
    profile = base64.b64encode(
        gzip.compress(b"\x32\x06cpu.py\x32\x10" + SPAN.encode() + b"\x32\x0f" + b"1" * 15)
    ).decode()
    export = ExportLogsServiceRequest()
    record = export.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = profile
    record.attributes.add(key="profiling.data.format").value.string_value = "pprof-gzip-base64"

    found = items("/v1/logs", export.SerializeToString())

    assert [item.kind for item in found] == ["profile", "profile sample", "profile sample"]
    assert [item.name for item in found[1:]] == [SPAN, "0" + "1" * 15]
