"""Export requests as items that can be compared with those of another run.

Ids and times differ between any two runs and are left out. The place of a span in its trace is kept: its parent is
named. Of a metric's series the last state is kept, or the sum of its deltas.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from otel_fastpath.tools.common.receiver import OF_THE_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_FRAME: Final = re.compile(r'^  File "(?P<path>.+)", line \d+, in .+$')
# The frames of hooks: a patch has others than what it replaces. The path of a compiled one begins with the package.
_OF_HOOKS: Final = re.compile(
    r"(?:^|[/\\])(opentelemetry|otel_fastpath|wrapt|fastapi[/\\]telemetry)[/\\]|[/\\]contextlib\.py$"
)
_STACKTRACE: Final = "exception.stacktrace"
_REMOTE: Final = '"(remote)"'
# The fields of a data point that hold what was measured.
_VALUES: Final = ("as_int", "as_double", "count", "sum", "min", "max", "bucket_counts", "explicit_bounds", "zero_count")
_SUMS: Final = ("as_int", "as_double", "count", "sum", "zero_count")
# A histogram of these units holds how long something took. Two runs agree in these fields by chance alone.
_UNITS_OF_TIME: Final = frozenset({"s", "ms", "us", "ns", "min", "h"})
_OF_TIME: Final = frozenset({"sum", "min", "max", "bucket_counts", "zero_count"})


@dataclass(frozen=True)
class Item:
    """A span, a metric's series, a log record, or a resource.

    Attributes:
        signal: "span", "metric", "log record" or "resource".
        scope: The name of its instrumentation scope.
        name: Its name; for a log record its event name or severity, for a resource the signal that it was sent with.
        fields: What is compared, as JSON by name, e.g. {"kind": "2", "attributes.http.route": '"/orders"'}.
    """

    signal: str
    scope: str
    name: str
    fields: dict[str, str]


def items(bodies: Callable[[str], list[bytes]]) -> list[Item]:
    """All items of a run.

    Args:
        bodies: Returns the export requests of "traces", "metrics" or "logs".

    Raises:
        google.protobuf.message.DecodeError: A body is not an export request.
    """
    traces = [ExportTraceServiceRequest.FromString(body) for body in bodies("traces")]
    metrics = [ExportMetricsServiceRequest.FromString(body) for body in bodies("metrics")]
    logs = [ExportLogsServiceRequest.FromString(body) for body in bodies("logs")]
    return [
        *_spans([(scope, span) for scope, span in _walk(traces, "resource_spans", "scope_spans", "spans")]),
        *_series(_walk(metrics, "resource_metrics", "scope_metrics", "metrics")),
        *(_record(scope, record) for scope, record in _walk(logs, "resource_logs", "scope_logs", "log_records")),
        *_resources("traces", traces, "resource_spans"),
        *_resources("metrics", metrics, "resource_metrics"),
        *_resources("logs", logs, "resource_logs"),
    ]


def _walk(requests: Iterable[Any], by_resource: str, by_scope: str, leaves: str) -> Iterator[tuple[Any, Any]]:
    """Each span, metric or log record with the message that holds its scope."""
    for request in requests:
        for of_resource in getattr(request, by_resource):
            for of_scope in getattr(of_resource, by_scope):
                for leaf in getattr(of_scope, leaves):
                    yield of_scope, leaf


def _resources(signal: str, requests: Iterable[Any], by_resource: str) -> list[Item]:
    found = {}
    for request in requests:
        for of_resource in getattr(request, by_resource):
            fields = _attributes("attributes", of_resource.resource.attributes)
            found[_text(fields)] = Item("resource", "", signal, fields)
    return list(found.values())


def _scope_fields(of_scope: Any) -> dict[str, str]:
    fields = _attributes("scope.attributes", of_scope.scope.attributes)
    return fields | {"scope.version": _text(of_scope.scope.version), "schema_url": _text(of_scope.schema_url)}


def _spans(spans: list[tuple[Any, Any]]) -> Iterator[Item]:
    by_id = {(span.trace_id, span.span_id): (of_scope, span) for of_scope, span in spans}
    for of_scope, span in spans:
        fields = _scope_fields(of_scope) | {
            "kind": _text(span.kind),
            "status": _text([span.status.code, span.status.message]),
            "parent": _text(_parent(span, by_id)),
            "flags": _text(span.flags),
            "trace_state": _text(span.trace_state),
            "dropped": _text([span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count]),
            "links": _text([_plain(link.attributes) for link in span.links]),
            **_attributes("attributes", span.attributes),
        }
        if fields["parent"] == _REMOTE:
            fields["remote_parent"] = _text(f"{span.trace_id.hex()} {span.parent_span_id.hex()}")
        for number, event in enumerate(span.events):
            fields[f"events.{number}.name"] = _text(event.name)
            fields |= _attributes(f"events.{number}.attributes", event.attributes)
        yield Item("span", of_scope.scope.name, span.name, fields)


def _parent(span: Any, by_id: dict[tuple[bytes, bytes], tuple[Any, Any]]) -> str:
    if not span.parent_span_id:
        return "(none)"
    found = by_id.get((span.trace_id, span.parent_span_id))
    if found is None:
        return "(remote)"
    of_scope, parent = found
    return f"{parent.name} ({library(of_scope.scope.name)})"


def library(scope: str) -> str:
    """The library that a scope is about: both otel_fastpath.asyncpg and the stock scope are about asyncpg."""
    for prefix in ("opentelemetry.instrumentation.", "otel_fastpath."):
        if scope.startswith(prefix):
            return scope[len(prefix) :]
    return scope


def _series(metrics: Iterable[tuple[Any, Any]]) -> Iterator[Item]:
    latest: dict[tuple[str, str, str], dict[str, str]] = {}
    sums: dict[tuple[str, str, str], dict[str, float]] = {}
    with_exemplars: set[tuple[str, str, str]] = set()
    for of_scope, metric in metrics:
        kind = metric.WhichOneof("data")
        if kind is None:
            continue
        data = getattr(metric, kind)
        about = _scope_fields(of_scope) | {
            "type": _text(kind),
            "unit": _text(metric.unit),
            "description": _text(metric.description),
            "temporality": _text(getattr(data, "aggregation_temporality", 0)),
            "is_monotonic": _text(getattr(data, "is_monotonic", False)),
        }
        is_delta = about["temporality"] == _text(AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA)
        for point in data.data_points:
            attributes = _attributes("attributes", point.attributes)
            key = (of_scope.scope.name, metric.name, _text(attributes))
            if of_scope.scope.name.startswith(OF_THE_PROCESS):
                # What memory, threads and queues are like at that moment: no two runs agree but by chance.
                latest[of_scope.scope.name, metric.name, ""] = about
                continue
            values = {name: _number(getattr(point, name)) for name in _VALUES if hasattr(point, name)}
            if is_delta:
                total = sums.setdefault(key, {})
                for name in set(_SUMS) & values.keys():
                    values[name] = total[name] = total.get(name, 0) + values[name]
            if "bucket_counts" in values and metric.unit in _UNITS_OF_TIME:
                values = {name: value for name, value in values.items() if name not in _OF_TIME}
            # A point of an interval without a measurement has none.
            with_exemplars |= {key} if getattr(point, "exemplars", ()) else set()
            values["has_exemplars"] = key in with_exemplars
            latest[key] = {**about, **attributes, **{name: _text(value) for name, value in values.items()}}
    for (scope, name, _), fields in latest.items():
        yield Item("metric", scope, name, fields)


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) else list(value)


def _record(of_scope: Any, record: Any) -> Item:
    fields = _scope_fields(of_scope) | {
        "severity": _text([record.severity_number, record.severity_text]),
        "body": _text(_value(record.body)),
        "event_name": _text(record.event_name),
        "is_in_a_trace": _text(bool(record.trace_id)),
        "dropped": _text(record.dropped_attributes_count),
        **_attributes("attributes", record.attributes),
    }
    return Item("log record", of_scope.scope.name, record.event_name or record.severity_text, fields)


def _attributes(prefix: str, pairs: Iterable[Any]) -> dict[str, str]:
    return {f"{prefix}.{key}": _text(value) for key, value in _plain(pairs).items()}


def _plain(pairs: Iterable[Any]) -> dict[str, Any]:
    found = {pair.key: _value(pair.value) for pair in pairs}
    if isinstance(found.get(_STACKTRACE), str):
        found[_STACKTRACE] = without_hooks(found[_STACKTRACE])
    return found


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return f"bytes {value.bytes_value.hex()}"
    return None if kind is None else getattr(value, kind)


def without_hooks(stacktrace: str) -> str:
    """The stack trace without the frames of hooks, and without the source lines below these frames."""
    kept = []
    is_of_hook = False
    for line in stacktrace.splitlines():
        frame = _FRAME.match(line)
        if frame:
            is_of_hook = _OF_HOOKS.search(frame["path"]) is not None
        elif not line.startswith("    "):
            is_of_hook = False
        if not is_of_hook:
            kept.append(line)
    return "\n".join(kept)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
