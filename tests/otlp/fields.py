"""Every field of every item that is encoded, and values that an application may put into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from google.protobuf.internal import api_implementation
from makeitems import (
    CONTEXT,
    DEEP,
    EMOJI,
    LONE,
    Broken,
    Holder,
    buckets,
    event,
    exemplar,
    exponential,
    log,
    metric,
    nested,
    point,
    span,
)
from opentelemetry.sdk.metrics.export import Buckets, ExponentialHistogram, Gauge, Histogram, Sum
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope as Scope
from opentelemetry.trace import Link, SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

if TYPE_CHECKING:
    from collections.abc import Callable


class Field(NamedTuple):
    """A field of an item.

    Attributes:
        counted: Its name where it is counted.
        make: Makes an item with this value in the field.
        path: Where the value is in a message with the item, its scope and its resource; "*" is the item.
        around: What is left out where no value can be sent: its name where it is counted, and its path.
    """

    counted: str
    make: Callable[[Any], Any]
    path: str
    around: tuple[tuple[str, str], ...] = ()


def _with(owner, name, value):
    """The object with another value in a field, whatever its class says to that."""
    object.__setattr__(owner, name, value)
    return owner


def _member(value):
    """A value for an enumeration: protobuf 6 crashes at half of a surrogate pair, with stock, too."""
    return str.encode(value, errors="replace").decode() if issubclass(type(value), str) else value


def _in_scope(make, **given):
    def of(**fields):
        scope = Scope("scope", "1", "", {"k": 1})
        for name, value in fields.items():
            _with(scope, name, value)
        return make(**{**given, "scope": scope})

    def resource(**fields):
        made = Resource({"k": 1})
        for name, value in fields.items():
            _with(made, name, value)
        return make(**{**given, "resource": made})

    return [
        Field("scope.name", lambda v: of(_name=v), "scope.name"),
        Field("scope.version", lambda v: of(_version=v), "scope.version"),
        Field("scope.schema_url", lambda v: of(_schema_url=v), "scope_schema_url"),
        Field("scope.attributes", lambda v: of(_attributes={"k": v, "b": 1}), "scope.attributes"),
        Field("resource.schema_url", lambda v: resource(_schema_url=v), "resource_schema_url"),
        Field("resource.attributes", lambda v: resource(_attributes={"k": v, "b": 1}), "resource.attributes"),
    ]


def _ids(trace_id, span_id, state=None):
    """A span context, whose own class compares the ids."""
    return tuple.__new__(SpanContext, (trace_id, span_id, False, TraceFlags(0), state, True))


def _status(**fields):
    made = Status(StatusCode.ERROR, "why")
    for name, value in fields.items():
        _with(made, name, value)
    return made


def _event(**fields):
    return span(events=[event("first"), event(**fields), event("last")])


def _link(context=CONTEXT, attributes=None):
    return span(links=[Link(CONTEXT), Link(context, attributes), Link(CONTEXT, {"last": 1})])


def _in_attributes(counted, make, path):
    return [
        Field(counted, lambda v: make({"a": 1, "k": v, "b": 2}), path),
        Field(counted, lambda v: make({"a": 1, "k": {"in": [v, 2]}, "b": 2}), path),
        Field(counted, lambda v: make({"a": 1, **_keyed(v), "b": 2}), path),
    ]


def _keyed(value):
    """A dict with this key, unless it has no hash."""
    try:
        return {value: 1}
    except Exception:
        return {}


_SPAN = (("span", "*"),)
_LINK = (("span.links", "item.links"),)
_SPANS = [
    Field("span.name", span, "item.name"),
    Field("span.start_time", lambda v: span(start_time=v), "item.start_time_unix_nano"),
    Field("span.end_time", lambda v: span(end_time=v), "item.end_time_unix_nano"),
    Field("span.kind", lambda v: span(kind=v), "item.kind"),
    Field("span.trace_id", lambda v: span(context=_ids(v, 2)), "item.trace_id", _SPAN),
    Field("span.span_id", lambda v: span(context=_ids(1, v)), "item.span_id", _SPAN),
    Field("span.trace_state", lambda v: span(context=_ids(1, 2, v)), "item.trace_state"),
    Field("span.trace_state", lambda v: span(context=_ids(1, 2, {"k": v, "b": "1"})), "item.trace_state"),
    Field(
        "parent.span_id",
        lambda v: span(parent=_ids(1, v)),
        "item.parent_span_id",
        (("span.parent", "item.parent_span_id"),),
    ),
    Field("span.status", lambda v: span(status=v), "item.status"),
    Field("status.status_code", lambda v: span(status=_status(_status_code=Holder(_member(v)))), "item.status.code"),
    Field("status.description", lambda v: span(status=_status(_description=v)), "item.status.message"),
    *_in_attributes("span.attributes", lambda held: span(attributes=held), "item.attributes"),
    Field("event.name", lambda v: _event(name=v), "item.events.name"),
    Field("event.timestamp", lambda v: _event(timestamp=v), "item.events.time_unix_nano"),
    *_in_attributes("event.attributes", lambda held: _event(attributes=held), "item.events.attributes"),
    Field("span.events", lambda v: span(events=[event(), v]), "item.events"),
    Field("link.trace_id", lambda v: _link(_ids(v, 2)), "item.links.trace_id", _LINK),
    Field("link.span_id", lambda v: _link(_ids(1, v)), "item.links.span_id", _LINK),
    *_in_attributes("link.attributes", lambda held: _link(attributes=held), "item.links.attributes"),
    Field("span.links", lambda v: span(links=[Link(CONTEXT), v]), "item.links"),
    *_in_scope(lambda scope=None, **given: span(**({"instrumentation_scope": scope} if scope else {}), **given)),
]
_LOGS = [
    Field("log_record.body", log, "item.body"),
    Field("log_record.body", lambda v: log({"a": [1, v], "b": 2}), "item.body"),
    Field("log_record.body", lambda v: log({**_keyed(v), "b": 2}), "item.body"),
    *_in_attributes("log_record.attributes", lambda held: log(attributes=held), "item.attributes"),
    Field("log_record.timestamp", lambda v: log(timestamp=v), "item.time_unix_nano"),
    Field("log_record.observed_timestamp", lambda v: log(observed_timestamp=v), "item.observed_time_unix_nano"),
    Field("log_record.severity_text", lambda v: log(severity_text=v), "item.severity_text"),
    Field("log_record.severity_number", lambda v: log(severity_number=Holder(_member(v))), "item.severity_number"),
    Field("log_record.event_name", lambda v: log(event_name=v), "item.event_name"),
    Field("log_record.trace_id", lambda v: log(trace_id=v), "item.trace_id"),
    Field("log_record.span_id", lambda v: log(span_id=v), "item.span_id"),
    Field("log_record.trace_flags", lambda v: log(trace_flags=v), "item.flags"),
    *_in_scope(log),
]


def _number(kind, path):
    def of(*arguments, **given):
        return metric(point(7), point(*arguments, **given), point(8), kind=kind)

    points, around = f"item.{path}.data_points", (("metric.data_points", f"item.{path}.data_points"),)
    exemplars = (("data_point.exemplars", f"{points}.exemplars"),)

    def with_exemplar(*arguments, **given):
        return of(exemplars=[exemplar(), exemplar(*arguments, **given), exemplar(3)])

    return [
        Field("data_point.value", of, f"{points}.value", around),
        Field("data_point.time_unix_nano", lambda v: of(time_unix_nano=v), f"{points}.time_unix_nano"),
        *_in_attributes("data_point.attributes", lambda held: of(attributes=held), f"{points}.attributes"),
        Field("exemplar.value", with_exemplar, f"{points}.exemplars.value", exemplars),
        Field(
            "exemplar.time_unix_nano", lambda v: with_exemplar(time_unix_nano=v), f"{points}.exemplars.time_unix_nano"
        ),
        *(
            # Where one of them is not known, stock sends neither.
            Field(f"exemplar.{name}", lambda v, n=name: with_exemplar(**{n: v}), f"{points}.exemplars.ids")
            for name in ("span_id", "trace_id")
        ),
        *_in_attributes(
            "exemplar.filtered_attributes",
            lambda held: with_exemplar(filtered_attributes=held),
            f"{points}.exemplars.filtered_attributes",
        ),
        Field("metric.data_points", lambda v: metric(point(7), v, kind=kind), points),
        Field("data_point.exemplars", lambda v: of(exemplars=[exemplar(), v]), f"{points}.exemplars"),
    ]


def _summary(kind, make_point, path, lost):
    def of(**given):
        return metric(make_point(count=7), make_point(**given), make_point(count=8), kind=kind)

    points, around = f"item.{path}.data_points", (("metric.data_points", f"item.{path}.data_points"),)
    return [
        *(Field(f"data_point.{name}", lambda v, n=name: of(**{n: v}), f"{points}.{name}", around) for name in lost),
        *(
            Field(f"data_point.{name}", lambda v, n=name: of(**{n: v}), f"{points}.{name}")
            for name in ("sum", "min", "max", "time_unix_nano", "start_time_unix_nano")
        ),
        *_in_attributes("data_point.attributes", lambda held: of(attributes=held), f"{points}.attributes"),
    ]


_METRICS = [
    Field("metric.name", lambda v: metric(name=v), "item.name"),
    Field("metric.description", lambda v: metric(description=v), "item.description"),
    Field("metric.unit", lambda v: metric(unit=v), "item.unit"),
    Field("metric.aggregation_temporality", lambda v: metric(temporality=_member(v)), "item.sum", (("metric", "*"),)),
    Field("metric.is_monotonic", lambda v: metric(is_monotonic=v), "item.sum.is_monotonic", (("metric", "*"),)),
    *_number(Sum, "sum"),
    *_number(Gauge, "gauge"),
    *_summary(Histogram, buckets, "histogram", ("count", "bucket_counts", "explicit_bounds")),
    Field(
        "data_point.bucket_counts",
        lambda v: metric(buckets(), buckets(bucket_counts=(1, v)), kind=Histogram),
        "item.histogram.data_points",
        (("metric.data_points", "item.histogram.data_points"),),
    ),
    Field(
        "data_point.explicit_bounds",
        lambda v: metric(buckets(), buckets(explicit_bounds=(v,)), kind=Histogram),
        "item.histogram.data_points",
        (("metric.data_points", "item.histogram.data_points"),),
    ),
    *_summary(ExponentialHistogram, exponential, "exponential_histogram", ("count", "scale", "zero_count")),
    Field(
        "data_point.flags",
        lambda v: metric(exponential(), exponential(flags=v), kind=ExponentialHistogram),
        "item.exponential_histogram.data_points.flags",
    ),
    *(
        Field(
            f"buckets.{name}",
            lambda v, n=name: metric(
                exponential(), exponential(positive=Buckets(**{**_BUCKETS, n: v})), kind=ExponentialHistogram
            ),
            "item.exponential_histogram.data_points.positive",
            (("metric.data_points", "item.exponential_histogram.data_points"),),
        )
        for name in ("offset", "bucket_counts")
    ),
    *_in_scope(metric),
]
_BUCKETS: dict[str, Any] = {"offset": 1, "bucket_counts": [1, 2]}
FIELDS = {"traces": _SPANS, "logs": _LOGS, "metrics": _METRICS}


class _Text(str):
    __slots__ = ()

    def __str__(self):
        return "another"


class _Integer(int):
    def __str__(self):
        raise ValueError("no text")


class _Real(float):
    __slots__ = ()


class _Raising:
    """An object whose methods raise."""

    def _raise(self, *_arguments):
        raise ValueError("no")

    __str__ = __repr__ = __hash__ = __eq__ = __len__ = __bool__ = __iter__ = _raise
    __index__ = __int__ = __float__ = __getitem__ = __format__ = __getattr__ = __contains__ = _raise


class _Pretending:
    """An object that has no class."""

    @property
    def __class__(self):
        raise LookupError("no class")


class _RaisingMapping(Mapping):
    def __getitem__(self, key):
        raise LookupError(key)

    def __iter__(self):
        raise ValueError("no keys")

    def __len__(self):
        return 2


class _RaisingSequence(Sequence):
    def __getitem__(self, index):
        if index:
            raise LookupError("no more")
        return "first"

    def __len__(self):
        raise ValueError("no length")


def _cycle():
    made: list[Any] = [1]
    made.append(made)
    return made


def _cycle_of_dicts():
    made: dict[str, Any] = {"a": 1}
    made["self"] = [made]
    return made


# Each makes its value, which no other item has.
VALUES: dict[str, Callable[[], Any]] = {
    **{
        repr(value)[:30]: lambda value=value: value
        for value in (
            *("good", "", "a\0b", "é\U0001f600", LONE, EMOJI, "\udfff", "\ude00\ud83d", b"\xff", b"ok", LONE * 1000),
            *(0, 1, -1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1),
            *((1 << 64) - 1, 1 << 64, -(1 << 64), 1 << 70, 1 << 128, 10**400, True, None, ...),
            *(0.0, -0.0, 0.5, 1e300, float("inf"), float("-inf"), float("nan"), 1j),
            *(Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"), Fraction(1, 3), HTTPStatus.OK),
            *((), (1, 2), (1, LONE), [1, [b"\xff", 1 << 64]], {"k": LONE}, {1: 2}, {(1,): [LONE]}, {LONE: {"k": 1}}),
            *(frozenset({1}), object, CONTEXT, StatusCode.ERROR),
        )
    },
    "int64": lambda: np.int64(3),
    "uint64": lambda: np.uint64((1 << 64) - 1),
    "float32": lambda: np.float32(1.5),
    "float16": lambda: np.float16("inf"),
    "bool_": lambda: np.bool_(True),  # noqa: FBT003  # its only argument
    "array": lambda: np.zeros(3),
    "a text's subclass": lambda: _Text("text"),
    "a bad text's subclass": lambda: _Text(LONE),
    "an integer's subclass": lambda: _Integer(3),
    "a large integer's subclass": lambda: _Integer(1 << 70),
    "a float's subclass": lambda: _Real(1.5),
    "no text": Broken,
    "nothing": _Raising,
    "no class": _Pretending,
    "no keys": _RaisingMapping,
    "no items": _RaisingSequence,
    "objects that raise": lambda: [_Raising(), {"k": _Pretending(), "b": 1}, _RaisingMapping()],
    "deep": lambda: nested(DEEP),
    "deeper": lambda: nested(1000),
    "a cycle": _cycle,
    "a cycle of dicts": _cycle_of_dicts,
    "bytearray": lambda: bytearray(b"ab"),
    "range": lambda: range(3),
}
if api_implementation.Type() == "python":
    # It writes values of any depth, and not every release reads them.
    del VALUES["deep"]
