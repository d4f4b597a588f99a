"""Summarises the telemetry that a service sent over OTLP: how much it is, its spans, and what no span may be."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_fastpath.tools.verify.export_items import Item, items

# Attributes that contain a time, an id or a port of this run.
VARYING = (
    "client.port",
    "gen_ai.response.id",
    "gen_ai.response.time_to_first_chunk",
    "http.host",
    "net.host.port",
    "net.peer.port",
    "process.pid",
    "service.instance.id",
)
ID_SIZES = (16, 8)


def summarise(bodies: Callable[[str], list[bytes]]) -> dict[str, Any]:
    """Summarise the export requests of one run.

    Args:
        bodies: Returns the export requests of "traces", "metrics" or "logs".

    Returns:
        A JSON-able summary: the numbers of spans, metric series and log records, and the names of the metrics; `spans`
        maps a line of JSON, without what varies between two runs, to how often it occurred; `faults` counts what no
        span may be.
    """
    found = items(bodies)
    counts = Counter(item.signal for item in found)
    return {
        "span_count": counts["span"],
        "metric_series": counts["metric"],
        "metric_names": sorted({item.name for item in found if item.signal == "metric"}),
        "log_records": counts["log record"],
        "spans": dict(Counter(_line(item) for item in found if item.signal == "span")),
        "faults": dict(_faults(bodies("traces"))),
    }


def _line(span: Item) -> str:
    fields = {key: None if key.endswith(VARYING) else value for key, value in span.fields.items()}
    return json.dumps({"scope": span.scope, "name": span.name, **fields}, sort_keys=True)


def _faults(requests: Iterable[bytes]) -> Counter[str]:
    spans = [
        span
        for body in requests
        for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope_spans in resource_spans.scope_spans
        for span in scope_spans.spans
    ]
    traces = {span.span_id: span.trace_id for span in spans}
    found: Counter[str] = Counter()
    for span in spans:
        parents_trace = traces.get(span.parent_span_id, span.trace_id)
        found["id of a wrong size"] += (len(span.trace_id), len(span.span_id)) != ID_SIZES
        found["span that ends before it starts"] += not 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        found["span in another trace than its parent"] += parents_trace != span.trace_id
    found["span id sent twice"] = len(spans) - len(traces)
    return +found
