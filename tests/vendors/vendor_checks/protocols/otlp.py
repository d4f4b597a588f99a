"""OTLP over HTTP, as protobuf or as JSON."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from vendor_checks.items import Item, SpanName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vendor_checks.receiver import Request

PATHS = re.compile(r"/v\d/(traces|metrics|logs)/?$")
PROGRAM = "vendors.program"
_IDS = {"traceId", "spanId", "parentSpanId"}
_PROFILE = "profiling.data.format"
# A span's id in the table of strings of a profile: field 6, its length, and digits, without zeros at the beginning.
_SAMPLED = re.compile(rb"\x32([\x08-\x10])([0-9a-f]{8,16})")


def answer(_request: Request) -> tuple[int, str, bytes]:
    """An empty response message: everything was taken."""
    return 200, "application/x-protobuf", b""


def decode(request: Request) -> list[Item]:
    """The spans, metric points or log records."""
    message_type, read = _SIGNALS[PATHS.search(request.path)[1]]
    if request.headers.get("content-type", "").startswith("application/json"):
        message = ParseDict(_with_base64_ids(json.loads(request.body)), message_type())
    else:
        message = message_type.FromString(request.body)
    return list(read(message))


def _with_base64_ids(value: Any) -> Any:
    """OTLP's JSON with ids as protobuf's JSON has bytes: OTLP has hexadecimal digits instead."""
    if isinstance(value, list):
        return [_with_base64_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(each)).decode() if key in _IDS else _with_base64_ids(each)
        for key, each in value.items()
    }


def plain(value: Any) -> Any:
    """An attribute's value."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return attributes(value.kvlist_value.values)
    if kind == "bytes_value":
        return {"bytes": value.bytes_value.hex()}
    return None if kind is None else getattr(value, kind)


def attributes(pairs: Any) -> dict[str, Any]:
    """Attributes by key; the order means nothing, and a key that is there twice shows as such."""
    seen: Counter[str] = Counter()
    found = {}
    for pair in pairs:
        seen[pair.key] += 1
        name = pair.key if seen[pair.key] == 1 else f"{pair.key} (number {seen[pair.key]})"
        found[name] = plain(pair.value)
    return found


def _origin(group: Any, scope_group: Any) -> dict[str, Any]:
    scope = scope_group.scope
    return {
        "resource": {**attributes(group.resource.attributes), "schema": group.schema_url},
        "scope": {
            "name": scope.name,
            "version": scope.version,
            "attributes": attributes(scope.attributes),
            "schema": scope_group.schema_url,
        },
    }


def _spans(message: ExportTraceServiceRequest) -> Iterator[Item]:
    for group in message.resource_spans:
        for scope_group in group.scope_spans:
            origin = _origin(group, scope_group)
            for span in scope_group.spans:
                trace_id, span_id = span.trace_id.hex(), span.span_id.hex()
                value = {**_span(span), "trace": trace_id, "id": span_id, **origin}
                yield Item("span", span.name, value, (SpanName(trace_id, span_id, span.name),))


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "parent": span.parent_span_id.hex(),
        "kind": Span.SpanKind.Name(span.kind),
        "flags": span.flags,
        "trace_state": span.trace_state,
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "ends": "after its start" if span.end_time_unix_nano >= span.start_time_unix_nano else "before its start",
        "attributes": attributes(span.attributes),
        "dropped": [span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count],
        "status": [Status.StatusCode.Name(span.status.code), span.status.message],
        "events": [
            {
                "name": event.name,
                "time": event.time_unix_nano,
                "attributes": attributes(event.attributes),
                "dropped": event.dropped_attributes_count,
            }
            for event in span.events
        ],
        "links": [
            {
                "trace": link.trace_id.hex(),
                "span": link.span_id.hex(),
                "flags": link.flags,
                "trace_state": link.trace_state,
                "attributes": attributes(link.attributes),
                "dropped": link.dropped_attributes_count,
            }
            for link in span.links
        ],
    }


def _points(message: ExportMetricsServiceRequest) -> Iterator[Item]:
    for group in message.resource_metrics:
        for scope_group in group.scope_metrics:
            origin = _origin(group, scope_group)
            for metric in scope_group.metrics:
                kind = metric.WhichOneof("data")
                data = getattr(metric, kind)
                temporality = AggregationTemporality.Name(getattr(data, "aggregation_temporality", 0))
                about = {
                    "metric": [metric.name, metric.description, metric.unit, kind, temporality],
                    "monotonic": getattr(data, "is_monotonic", None),
                    **origin,
                }
                for point in data.data_points:
                    labels = attributes(point.attributes)
                    series = json.dumps([about, labels], sort_keys=True)
                    is_ours = scope_group.scope.name == PROGRAM
                    # What others measure, as durations and memory, differs from run to run.
                    value = _point(point, kind) if is_ours else "<of another scope>"
                    yield Item(
                        "metric point",
                        f"{metric.name} {json.dumps(labels)}",
                        {**about, "attributes": labels, "value": value},
                        series=series if temporality.endswith("CUMULATIVE") or kind == "gauge" else "",
                    )


def _point(point: Any, kind: str) -> dict[str, Any]:
    """A point's value. A sum keeps exemplars that are drawn at random, so that only their number is compared."""
    if kind in {"sum", "gauge"}:
        number = point.as_double if point.WhichOneof("value") == "as_double" else point.as_int
        return {"number": number, "exemplars": len(point.exemplars), "flags": point.flags}
    found = {"count": point.count, "sum": point.sum, "min": point.min, "max": point.max, "flags": point.flags}
    if kind == "histogram":
        found |= {"counts": list(point.bucket_counts), "bounds": list(point.explicit_bounds)}
    else:
        found |= {"scale": point.scale, "zeros": point.zero_count, "positive": list(point.positive.bucket_counts)}
    found["exemplars"] = [
        {
            "value": each.as_double if each.WhichOneof("value") == "as_double" else each.as_int,
            "trace": each.trace_id.hex(),
            "span": each.span_id.hex(),
            "attributes": attributes(each.filtered_attributes),
        }
        for each in point.exemplars
    ]
    return found


def _records(message: ExportLogsServiceRequest) -> Iterator[Item]:
    for group in message.resource_logs:
        for scope_group in group.scope_logs:
            origin = _origin(group, scope_group)
            for record in scope_group.log_records:
                text = plain(record.body)
                if any(pair.key == _PROFILE and plain(pair.value) == "pprof-gzip-base64" for pair in record.attributes):
                    yield from _samples(str(text))
                    continue
                value = {
                    "body": text,
                    "event": record.event_name,
                    "severity": [record.severity_number, record.severity_text],
                    "time": record.time_unix_nano,
                    "observed": record.observed_time_unix_nano,
                    "attributes": attributes(record.attributes),
                    "dropped": record.dropped_attributes_count,
                    "flags": record.flags,
                    "trace": record.trace_id.hex(),
                    "span": record.span_id.hex(),
                    **origin,
                }
                yield Item("log record", str(text), value)


def _samples(profile: str) -> Iterator[Item]:
    """The spans that the samples of a profile belong to, each once; when samples are taken is not ours to compare."""
    yield Item("profile", "", "pprof", series="profile")
    for length, digits in _SAMPLED.findall(gzip.decompress(base64.b64decode(profile))):
        if len(digits) >= length[0]:
            span = digits[: length[0]].decode().zfill(16)
            yield Item("profile sample", span, {"span": span}, series=f"sample {span}")


_SIGNALS = {
    "traces": (ExportTraceServiceRequest, _spans),
    "metrics": (ExportMetricsServiceRequest, _points),
    "logs": (ExportLogsServiceRequest, _records),
}
