"""Export requests as plain values that can be compared with those of another run of the same program.

Unlike `verify`, which compares two runs of any program, links and ids are compared, too. Of a time, only whether it is
that of the run is kept, and of a duration nothing. Attributes are in the order of their keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from otel_fastpath.tools.verify.export_items import without_hooks

_NOW: Final = "now"
_ROUND_NS: Final = 10**12
# In traceparent headers, too.
_ID: Final = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b")
# A component of the SDK is numbered in its process.
_COMPONENT: Final = re.compile(r"(_processor|_exporter|_reader)/\d+\b")
_PORT: Final = re.compile(r"\b\d{5}\b")
# A histogram of these units holds how long something took.
_UNITS_OF_TIME: Final = frozenset({"s", "seconds", "ms", "us", "ns", "min", "h"})
_STACK_TRACE: Final = "exception.stacktrace"
# How long something took, as the attribute of a span.
_TOOK: Final = frozenset({"gen_ai.response.time_to_first_chunk"})
_DURATIONS: Final = frozenset(
    {"sum", "min", "max", "bucket_counts", "exemplars", "scale", "positive", "negative", "zero_count"}
)


@dataclass(frozen=True)
class RequestReading:
    """How requests are read.

    Attributes:
        began: When the run began, in nanoseconds.
        ended: When it ended.
        is_exact: Whether the seed decides which measurements are exemplars.
    """

    began: int
    ended: int
    is_exact: bool


def plain(message: Any, reading: RequestReading) -> Any:
    """A message, an export request or a part of one, as tuples of the names and values of its fields."""
    if isinstance(message, KeyValue):
        if message.key == _STACK_TRACE:
            return message.key, without_hooks(message.value.string_value)
        return message.key, () if message.key in _TOOK else tuple(_fields(message.value, reading).items())
    fields = _fields(message, reading)
    if isinstance(message, Metric) and message.unit in _UNITS_OF_TIME:
        for name in fields.keys() & {"histogram", "exponential_histogram"}:
            fields[name] = _without_durations(fields[name])
    return tuple(fields.items())


def _fields(message: Any, reading: RequestReading) -> dict[str, Any]:
    found = {}
    for field, value in message.ListFields():
        if field.name == "exemplars" and not reading.is_exact:
            continue
        is_several = not isinstance(value, str | bytes) and hasattr(value, "__len__")
        if not is_several:
            found[field.name] = _leaf(field.name, value, reading)
            continue
        leaves = (_leaf(field.name, each, reading) for each in value)
        # The values of a list have an order.
        is_sorted = "attributes" in field.name
        found[field.name] = tuple(sorted(leaves, key=repr) if is_sorted else leaves)
    return found


def _leaf(name: str, value: Any, reading: RequestReading) -> Any:
    if hasattr(value, "ListFields"):
        return plain(value, reading)
    if name.endswith("time_unix_nano") and value >= reading.began:
        # Another time than that of the run is so by a round number.
        return _NOW if value <= reading.ended else f"{_NOW} and {(value - reading.began) // _ROUND_NS} of {_ROUND_NS}"
    if isinstance(value, str):
        return _COMPONENT.sub(r"\1/0", value)
    return value.hex() if isinstance(value, bytes) else value


def _without_durations(histogram: Any) -> Any:
    fields = dict(histogram)
    fields["data_points"] = tuple(
        tuple((name, "" if name in _DURATIONS else value) for name, value in point)
        for point in fields.get("data_points", ())
    )
    return tuple(fields.items())


def renumbered(seen: str) -> str:
    """What was seen, as text, with numbers in the place of ids and ports: of a program whose ids no seed decides."""
    numbers: dict[str, str] = {}
    return _PORT.sub("12345", _ID.sub(lambda found: numbers.setdefault(found[0], f"id {len(numbers)}"), seen))
