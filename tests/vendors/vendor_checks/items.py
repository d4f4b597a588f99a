"""What a protocol's decoder returns: one item for each span, event, metric point or log record that was sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SpanName:
    """The ids of a span and the name that stands for them, because each run has ids of its own.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
        name: The span's.
    """

    trace_id: str
    span_id: str
    name: str


@dataclass(frozen=True)
class Item:
    """One thing that was sent.

    Attributes:
        kind: What it is, for the reader: "span", "metric point", "Sentry event", ...
        name: Which one it is, for the reader.
        value: All of it, as dicts, lists, strings, numbers, booleans and None.
        spans: The spans that it is about.
        series: Not empty if a later item of the same series takes the place of this one, as with cumulative metrics.
    """

    kind: str
    name: str
    value: Any
    spans: tuple[SpanName, ...] = field(default=())
    series: str = ""
