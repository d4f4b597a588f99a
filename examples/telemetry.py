"""Summarises the telemetry that a service sent over OTLP, so that two runs can be compared.

Two runs of the same requests differ in ids, times and values derived from them. Everything else is kept: each span is
one line of JSON with its place in its trace, each metric series one line with what it counted, and equal lines are
counted. Two services sent the same telemetry if their summaries are equal.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

# Attributes that contain a time, an id or a port of this run: only their presence and type are compared.
VARYING = frozenset(
    {
        "client.port",
        "gen_ai.response.id",
        "gen_ai.response.time_to_first_chunk",
        "http.host",
        "net.host.port",
        "net.peer.port",
        "process.pid",
        "service.instance.id",
    }
)
_FRAME = re.compile(r'^  File "(?P<path>.+)", line \d+, in .+$')
# Frames that belong to the code that made the span, not to the application: a patch may have fewer of them.
_TELEMETRY_PATHS = ("/opentelemetry/", "/otel_fastpath/", "/contextlib.py", "/wrapt/")


def summarise(traces: Iterable[bytes], metrics: Iterable[bytes]) -> dict[str, Any]:
    """Summarise the export requests of one run.

    Args:
        traces: Bodies of `ExportTraceServiceRequest`, in any order.
        metrics: Bodies of `ExportMetricsServiceRequest`, in the order in which they came.

    Returns:
        A JSON-able summary: `spans` and `metrics` map a line of JSON to how often it occurred or what it counted,
        `callers` is a digest of the remote parents, and the rest are totals.
    """
    spans, faults = _Traces(), Counter[str]()
    for body in traces:
        spans.add(ExportTraceServiceRequest.FromString(body))
    series = _Series()
    for body in metrics:
        series.add(ExportMetricsServiceRequest.FromString(body))
    lines = spans.lines(faults)
    return {
        "spans": dict(sorted(lines.items())),
        "metrics": {key: series.latest[key] for key in sorted(series.latest)},
        "callers": spans.callers(),
        "faults": dict(sorted(faults.items())),
        "span_count": len(spans.by_id) + spans.repeated,
        "metric_points": series.points,
    }


def attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    """OTLP attributes as a plain dictionary, with what differs between runs put aside."""
    plain = {pair.key: _value(pair.value) for pair in pairs}
    for key in VARYING & plain.keys():
        plain[key] = f"<{type(plain[key]).__name__}>"
    if isinstance(plain.get("exception.stacktrace"), str):
        plain["exception.stacktrace"] = _own_frames(plain["exception.stacktrace"])
    return plain


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return f"bytes:{value.bytes_value.hex()}"
    return None if kind is None else getattr(value, kind)


def _own_frames(stacktrace: str) -> str:
    """The stack trace without the frames of telemetry itself; a frame's source lines go with it."""
    kept: list[str] = []
    skipping = False
    for line in stacktrace.splitlines():
        frame = _FRAME.match(line)
        if frame:
            skipping = any(part in frame["path"] for part in _TELEMETRY_PATHS)
        elif not line.startswith("    "):
            skipping = False
        if not skipping:
            kept.append(line)
    return "\n".join(kept)


def _line(**fields: Any) -> str:
    return json.dumps(fields, sort_keys=True)


def _without_defaults(message: Message, *names: str) -> dict[str, Any]:
    return {name: getattr(message, name) for name in names if getattr(message, name)}


@dataclass
class _Traces:
    """Spans by their id, so that each can be shown with its place in its trace."""

    by_id: dict[bytes, tuple[Span, dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    repeated: int = 0
    _places: dict[bytes, str] = field(default_factory=dict)

    def add(self, request: ExportTraceServiceRequest) -> None:
        for resource_spans in request.resource_spans:
            resource = attributes(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                scope = _scope(scope_spans)
                for span in scope_spans.spans:
                    self.repeated += span.span_id in self.by_id
                    self.by_id[span.span_id] = (span, scope, resource)

    def callers(self) -> str:
        """A digest of the (trace, parent) that the callers' headers named."""
        remote = sorted(
            span.trace_id + span.parent_span_id
            for span, _, _ in self.by_id.values()
            if span.parent_span_id and span.parent_span_id not in self.by_id
        )
        return hashlib.sha256(b"".join(remote)).hexdigest()

    def lines(self, faults: Counter[str]) -> Counter[str]:
        """Every span as a line of JSON, counted; what no span may be is counted in `faults`."""
        counted: Counter[str] = Counter()
        if self.repeated:
            faults["span id sent twice"] += self.repeated
        for span, scope, resource in self.by_id.values():
            self._check(span, faults)
            fields = _without_defaults(
                span, "flags", "trace_state", "dropped_attributes_count", "dropped_events_count", "dropped_links_count"
            )
            events = [
                {"name": event.name, "attributes": attributes(event.attributes)}
                | _without_defaults(event, "dropped_attributes_count")
                for event in span.events
            ]
            status = [Status.StatusCode.Name(span.status.code), span.status.message]
            line = _line(
                name=span.name,
                kind=Span.SpanKind.Name(span.kind),
                place=self._place(span),
                attributes=attributes(span.attributes),
                events=events,
                links=[attributes(link.attributes) for link in span.links],
                status=status,
                scope=scope,
                resource=resource,
                **fields,
            )
            counted[line] += 1
        return counted

    def _place(self, span: Span) -> str:
        """The names from the root of the trace down to this span's parent."""
        if not span.parent_span_id:
            return "(root)"
        known = self._places.get(span.parent_span_id)
        if known is None:
            parent = self.by_id.get(span.parent_span_id)
            known = "(caller)" if parent is None else f"{self._place(parent[0])} > {parent[0].name}"
            self._places[span.parent_span_id] = known
        return known

    def _check(self, span: Span, faults: Counter[str]) -> None:
        if len(span.trace_id) != 16 or len(span.span_id) != 8:  # noqa: PLR2004 - sizes that OTLP prescribes
            faults["id of a wrong size"] += 1
        if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
            faults["span that ends before it starts"] += 1
        parent = self.by_id.get(span.parent_span_id)
        if parent is not None and parent[0].trace_id != span.trace_id:
            faults["span in another trace than its parent"] += 1


@dataclass
class _Series:
    """Metric series by name and attributes, each with its latest point: points are cumulative."""

    latest: dict[str, Any] = field(default_factory=dict)
    points: int = 0

    def add(self, request: ExportMetricsServiceRequest) -> None:
        for resource_metrics in request.resource_metrics:
            resource = attributes(resource_metrics.resource.attributes)
            for scope_metrics in resource_metrics.scope_metrics:
                scope = _scope(scope_metrics)
                for metric in scope_metrics.metrics:
                    self._add_metric(metric, scope=scope, resource=resource)

    def _add_metric(self, metric: Metric, **place: Any) -> None:
        kind = metric.WhichOneof("data")
        if kind is None:
            return
        data = getattr(metric, kind)
        about: dict[str, Any] = {"kind": kind, **_without_defaults(metric, "name", "unit", "description")}
        if kind in {"sum", "histogram", "exponential_histogram"}:
            about["temporality"] = AggregationTemporality.Name(data.aggregation_temporality)
        if kind == "sum":
            about["monotonic"] = data.is_monotonic
        for point in data.data_points:
            self.points += 1
            key = _line(attributes=attributes(point.attributes), **about, **place)
            seen = self.latest.get(key, {}).get("exemplars", False)
            self.latest[key] = _counted(kind, metric.unit, point) | {"exemplars": seen or bool(point.exemplars)}


def _counted(kind: str, unit: str, point: Any) -> dict[str, Any]:
    """What a point counted, without what depends on how long things took."""
    if kind == "gauge":
        return {}
    if kind == "sum":
        return {"value": getattr(point, point.WhichOneof("value"))}
    counted = {"count": point.count}
    if kind == "histogram":
        counted["bounds"] = list(point.explicit_bounds)
    if unit not in {"s", "ms"}:
        counted["sum"] = point.sum
    return counted


def _scope(grouped: Any) -> dict[str, Any]:
    scope = grouped.scope
    own = attributes(scope.attributes)
    return {"name": scope.name, "version": scope.version, "schema": grouped.schema_url, "attributes": own}
