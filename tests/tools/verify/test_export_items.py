"""What a receiver gets, and what of it is compared."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
import zlib

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from otel_fastpath.tools.common.receiver import Receiver
from otel_fastpath.tools.verify.export_items import items, without_hooks

STACKTRACE = """Traceback (most recent call last):
  File "/app/shop.py", line 3, in order
    pay()
  File "/site-packages/opentelemetry/trace/__init__.py", line 9, in use_span
    yield span
    ^^^^^
  File "/app/shop.py", line 7, in pay
    raise ValueError
ValueError
"""


def read(traces=(), metrics=()):
    """The items of these requests."""
    bodies = {"traces": list(traces), "metrics": list(metrics)}
    return items(lambda signal: [request.SerializeToString() for request in bodies.get(signal, ())])


def post(url, body, **headers):
    """The status of the answer."""
    request = urllib.request.Request(url, body, {name.replace("_", "-"): value for name, value in headers.items()})  # noqa: S310  # a receiver of the test
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # likewise
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_receiver_keeps_runs_and_signals_apart():
    """Compressed or not; what it does not understand is refused."""
    with Receiver() as receiver:
        one, two = receiver.endpoint("one"), receiver.endpoint("two")
        assert post(f"{one}/v1/traces", b"a") == 200
        assert post(f"{one}/v1/traces", gzip.compress(b"b"), content_encoding="gzip") == 200
        assert post(f"{two}/v1/logs", zlib.compress(b"c"), content_encoding="deflate") == 200
        assert post(f"{two}/v1/logs", b"not compressed", content_encoding="gzip") == 400
        assert post(f"{two}/v1/logs", b"", content_encoding="unknown") == 400
        assert post(f"{two}/v1/profiles", b"") == 404

        assert receiver.bodies("one", "traces") == [b"a", b"b"]
        assert receiver.bodies("two", "logs") == [b"c"]
        assert receiver.bodies("two", "traces") == []


def test_the_parent_of_a_span_is_named():
    """Ids differ between runs; the place in the trace does not. A parent that was not sent is remote."""
    request = ExportTraceServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    scope_spans.scope.name = "otel_fastpath.asyncpg"
    for name, own, parent in (("root", b"1", b""), ("child", b"2", b"1"), ("other", b"3", b"9")):
        scope_spans.spans.add(name=name, span_id=own * 8, parent_span_id=parent * 8)

    found = {item.name: item.fields["parent"] for item in read([request]) if item.signal == "span"}

    assert found == {"root": '"(none)"', "child": '"root (asyncpg)"', "other": '"(remote)"'}


def test_a_parent_is_of_the_same_trace():
    """A span whose parent's id belongs to another trace has a remote parent; which one it is can be compared."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    spans.add(name="root", trace_id=b"a" * 16, span_id=b"1" * 8)
    spans.add(name="child", trace_id=b"a" * 16, span_id=b"2" * 8, parent_span_id=b"1" * 8)
    spans.add(name="lost", trace_id=b"b" * 16, span_id=b"3" * 8, parent_span_id=b"1" * 8)

    found = {item.name: item.fields for item in read([request]) if item.signal == "span"}

    assert found["child"]["parent"] == '"root ()"'
    assert "remote_parent" not in found["child"]
    assert found["lost"]["parent"] == '"(remote)"'
    assert found["lost"]["remote_parent"] == f'"{(b"b" * 16).hex()} {(b"1" * 8).hex()}"'


def test_what_depends_on_time_is_left_out_of_a_histogram():
    """Two runs agree in it by chance alone. The number of measurements stays, and all of a histogram of sizes."""
    request = ExportMetricsServiceRequest()
    metrics = request.resource_metrics.add().scope_metrics.add().metrics
    for name, unit in (("duration", "s"), ("size", "By")):
        point = metrics.add(name=name, unit=unit).histogram.data_points.add(count=3, sum=0.25, explicit_bounds=[1.0])
        point.bucket_counts.extend([3, 0])

    duration, size = (item.fields for item in read(metrics=[request]) if item.signal == "metric")

    assert duration["count"] == size["count"] == "3"
    assert {"sum", "min", "max", "bucket_counts"} & duration.keys() == set()
    assert (size["sum"], size["bucket_counts"]) == ("0.25", "[3, 0]")


def test_what_the_process_is_like_is_left_out():
    """Of the metrics of the system and the SDK, only that they are there, and their unit and type."""
    found = []
    for series in (1, 3):
        request = ExportMetricsServiceRequest()
        scope_metrics = request.resource_metrics.add().scope_metrics.add()
        scope_metrics.scope.name = "opentelemetry.instrumentation.system_metrics"
        metric = scope_metrics.metrics.add(name="cpython.gc.collections", unit="{collection}")
        for number in range(series):
            point = metric.sum.data_points.add(as_int=series)
            point.attributes.add(key="generation").value.int_value = number
        found.append([(item.name, item.fields["unit"]) for item in read(metrics=[request]) if item.signal == "metric"])

    assert found == [[("cpython.gc.collections", '"{collection}"')]] * 2


def test_a_series_with_exemplars_says_so():
    """Whichever of its points had one: those of an interval without a measurement have none."""
    requests = []
    for exemplars in (1, 0):
        request = ExportMetricsServiceRequest()
        metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="orders")
        metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        point = metric.sum.data_points.add(as_int=1)
        for _ in range(exemplars):
            point.exemplars.add(as_int=1)
        requests.append(request)

    with_one, without = (
        next(item.fields["has_exemplars"] for item in read(metrics=given) if item.signal == "metric")
        for given in (requests, requests[1:])
    )

    assert (with_one, without) == ("true", "false")


def test_frames_of_hooks_are_left_out_of_stack_traces():
    """A patch has other frames than what it replaces."""
    request = ExportTraceServiceRequest()
    event = request.resource_spans.add().scope_spans.add().spans.add(name="a").events.add(name="exception")
    event.attributes.add(key="exception.stacktrace").value.string_value = STACKTRACE

    [span] = [item for item in read([request]) if item.signal == "span"]

    kept = span.fields["events.0.attributes.exception.stacktrace"]
    assert "use_span" not in kept
    assert "yield" not in kept
    assert "^^^" not in kept
    assert kept.count("/app/shop.py") == 2


@pytest.mark.parametrize(
    ("path", "is_left_out"),
    [
        ("/site-packages/opentelemetry/sdk/trace/__init__.py", True),
        ("/site-packages/fastapi/telemetry/_asgi.py", True),
        ("/site-packages/fastapi/routing.py", False),
        ("/app/telemetry/shop.py", False),
    ],
)
def test_whose_frames_are_of_hooks(path, is_left_out):
    """FastAPI's own telemetry is one; its router is not."""
    frames = f'  File "{path}", line 3, in call\n    sell()\n  File "/app/shop.py", line 7, in sell\n    raise'
    assert (path not in without_hooks(frames)) == is_left_out
    assert "/app/shop.py" in without_hooks(frames)


@pytest.mark.parametrize(
    ("temporality", "expected"),
    [("AGGREGATION_TEMPORALITY_CUMULATIVE", "5"), ("AGGREGATION_TEMPORALITY_DELTA", "8")],
)
def test_a_series_is_one_item(temporality, expected):
    """Its last total, or the sum of its deltas."""
    requests = []
    for value in (3, 5):
        request = ExportMetricsServiceRequest()
        metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="orders", unit="{order}")
        metric.sum.aggregation_temporality = AggregationTemporality.Value(temporality)
        metric.sum.data_points.add(as_int=value).attributes.add(key="kind").value.string_value = "new"
        requests.append(request)

    [series] = [item for item in read(metrics=requests) if item.signal == "metric"]

    assert series.fields["as_int"] == expected
    assert series.fields["attributes.kind"] == '"new"'
