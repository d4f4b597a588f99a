"""Items of each signal that stock cannot encode, each with what becomes of it; and items that it can."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from google.protobuf.internal import api_implementation
from makeitems import (
    CONTEXT,
    DEEP,
    EMOJI,
    LONE,
    SCOPE,
    UNPRINTABLE,
    Broken,
    Holder,
    buckets,
    event,
    exponential,
    log,
    metric,
    nested,
    of_ids,
    point,
    span,
    with_exemplar,
)
from opentelemetry.sdk.metrics.export import (
    Buckets,
    ExponentialHistogram,
    Gauge,
    Histogram,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope as Scope
from opentelemetry.trace import Link
from opentelemetry.trace.status import Status, StatusCode

if TYPE_CHECKING:
    from collections.abc import Callable


class Sent(NamedTuple):
    """What arrived: a message of the item, and those of its scope and resource."""

    item: Any
    scope: Any
    resource: Any

    @property
    def points(self):
        """The data points of a metric."""
        return getattr(self.item, self.item.WhichOneof("data")).data_points

    @property
    def numbers(self):
        """The numbers of its data points."""
        return [each.as_int or each.as_double for each in self.points]

    @property
    def exemplars(self):
        """The exemplars of its first data point."""
        return self.points[0].exemplars


class Bad(NamedTuple):
    """An item that stock cannot encode.

    Attributes:
        kind: What is wrong with it.
        make: Makes it.
        found: What is counted.
        seen: Reads, from what arrived, the part that is wrong; None if the item is left out.
        sent: What is sent in its place.
    """

    kind: str
    make: Callable[[], Any]
    found: str
    seen: Callable[[Sent], Any] | None = None
    sent: Any = None


def _in_scope(make, **given):
    return [
        Bad("scope", lambda: make(**{**given, "scope": Scope(LONE)}), "altered scope.name", _scope_name, "a?b"),
        Bad("version", lambda: make(**{**given, "scope": Scope("s", LONE)}), "altered scope.version", _version, "a?b"),
        Bad(
            "schema",
            lambda: make(**{**given, "scope": Scope("s", "", LONE)}),
            "altered scope.schema_url",
            _schema,
            "a?b",
        ),
        Bad("no hash", lambda: make(**{**given, "scope": Scope(["a"])}), "altered scope.name", _scope_name, "['a']"),
        Bad(
            *(
                "resource",
                lambda: make(**{**given, "resource": Resource({"a": 1}, LONE)}),
                "altered resource.schema_url",
            ),
            *(lambda sent: sent.resource.schema_url, "a?b"),
        ),
    ]


def _scope_name(sent):
    return sent.scope.scope.name


def _version(sent):
    return sent.scope.scope.version


def _schema(sent):
    return sent.scope.schema_url


def _text(sent):
    return sent.item.body.string_value


def _name(sent):
    return sent.item.name


def _ended(sent):
    return (sent.item.start_time_unix_nano, sent.item.end_time_unix_nano)


ERROR = StatusCode.ERROR
SPANS = [
    Bad("name", lambda: span(LONE), "altered span.name", _name, "a?b"),
    Bad("two halves", lambda: span(EMOJI), "altered span.name", _name, "\U0001f600"),
    Bad("number as name", lambda: span(5), "altered span.name", _name, "5"),
    Bad("object as name", lambda: span(Broken()), "altered span.name", _name, UNPRINTABLE),
    Bad("bytes as name", lambda: span(b"\xff"), "altered span.name", _name, "\ufffd"),
    Bad(
        *("description", lambda: span(status=Status(ERROR, LONE)), "altered status.description"),
        *(lambda sent: (sent.item.status.code, sent.item.status.message), (2, "a?b")),
    ),
    Bad("status", lambda: span(status="no"), "altered span.status", lambda sent: [*sent.item.status.ListFields()], []),
    Bad(
        "event", lambda: span(events=[event(LONE)]), "altered event.name", lambda sent: sent.item.events[0].name, "a?b"
    ),
    Bad(
        *("event's time", lambda: span(events=[event(timestamp=-1)]), "altered event.timestamp"),
        *(lambda sent: [(each.name, each.time_unix_nano) for each in sent.item.events], [("event", 0)]),
    ),
    Bad(
        *("no event", lambda: span(events=[5, event()]), "left_out span.events"),
        *(lambda sent: [each.name for each in sent.item.events], ["event"]),
    ),
    Bad("start", lambda: span(start_time=-1), "altered span.start_time", _ended, (0, 2)),
    Bad("end", lambda: span(end_time=1 << 64), "altered span.end_time", _ended, (1, 0)),
    Bad("end, a text", lambda: span(end_time="now"), "altered span.end_time", _ended, (1, 0)),
    Bad("end, a Decimal", lambda: span(end_time=Decimal("2.5")), "altered span.end_time", _ended, (1, 2)),
    Bad("kind", lambda: span(kind="server"), "altered span.kind", lambda sent: sent.item.kind, 1),
    Bad("no kind", lambda: span(kind=None), "altered span.kind", lambda sent: sent.item.kind, 1),
    Bad("trace id", lambda: span(context=of_ids(1 << 128, 2)), "left_out span"),
    Bad("span id", lambda: span(context=of_ids(1, -2)), "left_out span"),
    Bad("id, a float", lambda: span(context=of_ids(1.0, 2)), "left_out span"),
    Bad("no context", lambda: span(context=None), "left_out span"),
    Bad("no span", lambda: None, "left_out span"),
    Bad(
        *("trace state", lambda: span(context=of_ids(1, 2, {"k": LONE})), "altered span.trace_state"),
        *(lambda sent: sent.item.trace_state, "k=a?b"),
    ),
    Bad(
        *("parent", lambda: span(parent=of_ids(1, 1 << 64)), "altered span.parent"),
        *(lambda sent: sent.item.parent_span_id, b""),
    ),
    Bad(
        *("link", lambda: span(links=[Link(of_ids(-1, 1)), Link(CONTEXT)]), "left_out span.links"),
        *(lambda sent: [each.span_id[-1] for each in sent.item.links], [2]),
    ),
    Bad(
        *("deep", lambda: span(attributes={"k": nested(DEEP)}), "altered span.attributes"),
        *(lambda sent: sent.item.attributes[0].key, "k"),
    ),
    *_in_scope(lambda scope=SCOPE, **given: span(instrumentation_scope=scope, **given)),
]
LOGS = [
    Bad("body", lambda: log(LONE), "altered log_record.body", _text, "a?b"),
    Bad("two halves", lambda: log(EMOJI), "altered log_record.body", _text, "\U0001f600"),
    Bad("large", lambda: log(1 << 64), "altered log_record.body", _text, hex(1 << 64)),
    Bad("object", lambda: log(Broken()), "altered log_record.body", _text, UNPRINTABLE),
    Bad("Decimal", lambda: log(Decimal("1.5")), "altered log_record.body", _text, "1.5"),
    Bad(
        *("nested", lambda: log({"k": [LONE]}), "altered log_record.body"),
        *(lambda sent: sent.item.body.kvlist_value.values[0].value.array_value.values[0].string_value, "a?b"),
    ),
    Bad(
        *("key", lambda: log({LONE: 1}), "altered log_record.body"),
        *(lambda sent: sent.item.body.kvlist_value.values[0].key, "a?b"),
    ),
    Bad(
        *("deep", lambda: log(nested(DEEP)), "altered log_record.body"),
        *(lambda sent: bool(sent.item.body.array_value.values), True),
    ),
    Bad("time", lambda: log(timestamp=-1), "altered log_record.timestamp", lambda sent: sent.item.time_unix_nano, 0),
    Bad(
        *("observed", lambda: log(observed_timestamp=1 << 64), "altered log_record.observed_timestamp"),
        *(lambda sent: sent.item.observed_time_unix_nano, 0),
    ),
    Bad(
        *("severity", lambda: log(severity_text=LONE), "altered log_record.severity_text"),
        *(lambda sent: sent.item.severity_text, "a?b"),
    ),
    Bad(
        *("number", lambda: log(severity_number=Holder("high")), "altered log_record.severity_number"),
        *(lambda sent: sent.item.severity_number, 0),
    ),
    Bad(
        *("event name", lambda: log(event_name=LONE), "altered log_record.event_name"),
        *(lambda sent: sent.item.event_name, "a?b"),
    ),
    Bad(
        "trace id", lambda: log(trace_id=1 << 128), "altered log_record.trace_id", lambda sent: sent.item.trace_id, b""
    ),
    Bad("span id", lambda: log(span_id=-1), "altered log_record.span_id", lambda sent: sent.item.span_id, b""),
    Bad("flags", lambda: log(trace_flags=None), "altered log_record.trace_flags", lambda sent: sent.item.flags, 0),
    Bad("no record", lambda: None, "left_out log_record"),
    *_in_scope(log),
]


def _of_number(kind):
    def make(*points):
        return metric(*points, kind=kind)

    left_out, altered = "left_out metric.data_points", "altered data_point.value"
    return [
        Bad("large", lambda: make(point(), point(1 << 70)), altered, lambda sent: sent.numbers, [1, float(1 << 70)]),
        Bad("None", lambda: make(point(), point(None), point(2)), left_out, lambda sent: sent.numbers, [1, 2]),
        Bad("text", lambda: make(point("5"), point()), left_out, lambda sent: sent.numbers, [1]),
        Bad("beyond floats", lambda: make(point(), point(10**400)), left_out, lambda sent: sent.numbers, [1]),
        Bad(
            *("time", lambda: make(point(), point(time_unix_nano=-1)), "altered data_point.time_unix_nano"),
            *(lambda sent: [each.time_unix_nano for each in sent.points], [2, 0]),
        ),
        Bad("no point", lambda: make(point(), None), left_out, lambda sent: sent.numbers, [1]),
    ]


def _of_histogram(kind, make_point):
    def make(**given):
        return metric(make_point(**given), make_point(), kind=kind)

    def counted(sent):
        return [each.count for each in sent.points]

    left_out = "left_out metric.data_points"
    return [
        Bad("count", lambda: make(count=-1), left_out, counted, [3]),
        Bad(
            *("sum", lambda: make(sum=10**400), "altered data_point.sum"),
            *(lambda sent: [each.HasField("sum") for each in sent.points], [False, True]),
        ),
        Bad(
            *("min", lambda: make(min="1"), "altered data_point.min"),
            *(lambda sent: [each.HasField("min") for each in sent.points], [False, True]),
        ),
        *(
            [
                Bad("bound", lambda: make(explicit_bounds=(None,)), left_out, counted, [3]),
                Bad("bucket", lambda: make(bucket_counts=(-1, 4)), left_out, counted, [3]),
            ]
            if kind is Histogram
            else [
                Bad("scale", lambda: make(scale=1 << 40), left_out, counted, [3]),
                Bad("bucket", lambda: make(positive=Buckets(1, [-1])), left_out, counted, [3]),
            ]
        ),
    ]


def _numbers_of_exemplars(sent):
    return [each.as_int or each.as_double for each in sent.exemplars]


METRICS = [
    Bad("name", lambda: metric(name=LONE), "altered metric.name", _name, "a?b"),
    Bad(
        "halves",
        lambda: metric(description=EMOJI),
        "altered metric.description",
        lambda s: s.item.description,
        "\U0001f600",
    ),
    Bad("unit", lambda: metric(unit=LONE), "altered metric.unit", lambda sent: sent.item.unit, "a?b"),
    Bad("temporality", lambda: metric(temporality="no"), "left_out metric"),
    *(bad._replace(kind=f"sum, {bad.kind}") for bad in _of_number(Sum)),
    *(bad._replace(kind=f"gauge, {bad.kind}") for bad in _of_number(Gauge)),
    *(bad._replace(kind=f"histogram, {bad.kind}") for bad in _of_histogram(Histogram, buckets)),
    *(bad._replace(kind=f"exponential, {bad.kind}") for bad in _of_histogram(ExponentialHistogram, exponential)),
    *(
        Bad(
            f"exemplar, {value!r}",
            lambda v=value: with_exemplar(v),
            "altered exemplar.value",
            _numbers_of_exemplars,
            [1, 1.5],
        )
        for value in (Decimal("1.5"), np.float32(1.5))
    ),
    Bad(
        "large exemplar",
        lambda: with_exemplar(1 << 70),
        "altered exemplar.value",
        _numbers_of_exemplars,
        [1, float(1 << 70)],
    ),
    Bad("exemplar, None", lambda: with_exemplar(None), "left_out data_point.exemplars", _numbers_of_exemplars, [1]),
    Bad(
        *("exemplar's id", lambda: with_exemplar(span_id=-1), "altered exemplar.span_id"),
        *(lambda sent: [each.span_id[-1:] for each in sent.exemplars], [b"\x04", b""]),
    ),
    Bad(
        *("exemplar's time", lambda: with_exemplar(time_unix_nano=-1), "altered exemplar.time_unix_nano"),
        *(lambda sent: [each.time_unix_nano for each in sent.exemplars], [3, 0]),
    ),
    *_in_scope(metric),
]
# Protobuf's pure implementation writes values of any depth.
_WRITTEN = {"deep"} if api_implementation.Type() == "python" else set()
BAD = {
    signal: [bad for bad in several if bad.kind not in _WRITTEN]
    for signal, several in {"traces": SPANS, "logs": LOGS, "metrics": METRICS}.items()
}
