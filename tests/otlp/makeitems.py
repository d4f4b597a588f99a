"""Makes items of each signal: good ones, unless something else is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    ExponentialHistogramDataPoint,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope as Scope
from opentelemetry.trace import SpanContext, SpanKind

LONE = "a\ud800b"
EMOJI = "\ud83d\ude00"
UNPRINTABLE = "<unprintable Broken object>"
# The nesting of which stock encodes the value alone, but not the request.
DEEP = 49
SCOPE = Scope("scope", "1")
RESOURCE = Resource({"service.name": "shop"})
CONTEXT = SpanContext(1, 2, is_remote=False)
CUMULATIVE = AggregationTemporality.CUMULATIVE


class Broken:
    """An object without a text."""

    def __str__(self):  # noqa: D105
        raise ValueError("no text")


@dataclass
class Holder:
    """An object with a value."""

    value: Any


def of_ids(trace_id, span_id, state=None):
    """A span context of any ids."""
    return SpanContext(trace_id, span_id, is_remote=False, trace_state=state)


def nested(levels):
    """A text in so many lists."""
    value = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def span(name="good", **given):
    """A span; what is not given is as in most spans."""
    context = given.pop("context", CONTEXT)
    made = {"instrumentation_scope": SCOPE, "resource": RESOURCE, "kind": SpanKind.SERVER, "start_time": 1}
    return ReadableSpan(name, context, **{**made, "end_time": 2, **given})


def event(name="event", **given):
    """An event with a time."""
    return Event(name, given.get("attributes", {"k": 1}), given.get("timestamp", 1))


def log(body="good", **given):
    """A log record."""
    resource, scope = given.pop("resource", RESOURCE), given.pop("scope", SCOPE)
    made = {"timestamp": 1, "observed_timestamp": 2, "severity_text": "INFO", "severity_number": SeverityNumber.INFO}
    fields = {**made, "attributes": {"k": 1}, **given}
    record = LogRecord(
        body=body,
        **{name: fields.pop(name) for name in ("timestamp", "severity_number", "attributes") if name in fields},
    )
    for name, value in fields.items():
        setattr(record, name, value)
    return ReadableLogRecord(record, resource, scope)


def point(value=1, **given):
    """A number."""
    made = {"attributes": {"k": 1}, "start_time_unix_nano": 1, "time_unix_nano": 2, "exemplars": []}
    return NumberDataPoint(value=value, **{**made, **given})


def buckets(**given):
    """A histogram's data point."""
    made = {"attributes": {"k": 1}, "start_time_unix_nano": 1, "time_unix_nano": 2, "count": 3, "sum": 4.5, "min": 1}
    made |= {"bucket_counts": (1, 2), "explicit_bounds": (1.5,), "max": 2.0, "exemplars": []}
    return HistogramDataPoint(**{**made, **given})


def exponential(**given):
    """An exponential histogram's data point."""
    made = {"attributes": {"k": 1}, "start_time_unix_nano": 1, "time_unix_nano": 2, "count": 3, "sum": 4.5, "scale": 1}
    made |= {
        "zero_count": 0,
        "positive": Buckets(1, [1, 2]),
        "negative": Buckets(0, []),
        "flags": 0,
        "min": 1,
        "max": 2,
    }
    return ExponentialHistogramDataPoint(**{**made, "exemplars": [], **given})


def metric(*points, name="good", description="what", unit="1", temporality=CUMULATIVE, **given):
    """A metric of these points; a sum by default."""
    points = list(points) or [point()]
    kind = given.pop("kind", Sum)
    if kind is Gauge:
        data = Gauge(points)
    elif kind is Sum:
        data = Sum(points, temporality, is_monotonic=given.pop("is_monotonic", True))
    else:
        data = kind(points, temporality)
    made = Metric(name, description, unit, data)
    return made, given.pop("scope", SCOPE), given.pop("resource", RESOURCE)


def exemplar(value=1, **given):
    """An exemplar."""
    made = {"filtered_attributes": {"k": 1}, "time_unix_nano": 3, "span_id": 4, "trace_id": 5}
    return Exemplar(value=value, **{**made, **given})


def with_exemplar(*arguments, **given):
    """A metric of one point, whose exemplars are a good one and this one."""
    return metric(point(exemplars=[exemplar(), exemplar(*arguments, **given)]))


def batch(signal, items):
    """What an exporter of the signal is given."""
    if signal != "metrics":
        return items
    resources: dict[int, Any] = {}
    for made, scope, resource in items:
        _, scopes = resources.setdefault(id(resource), (resource, {}))
        scopes.setdefault(id(scope), (scope, []))[1].append(made)
    return MetricsData(
        [
            ResourceMetrics(
                resource, [ScopeMetrics(scope, found, scope.schema_url) for scope, found in scopes.values()], ""
            )
            for resource, scopes in resources.values()
        ]
    )


# A good item of this name, or body.
GOOD = {"traces": span, "logs": log, "metrics": lambda name: metric(name=name)}
