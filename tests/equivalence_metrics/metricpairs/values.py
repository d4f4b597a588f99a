"""Attributes, amounts and contexts: those that everybody uses, and those that nobody should."""

from __future__ import annotations

import enum
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context


class Text(str):
    """A str that is not exactly one."""

    __slots__ = ()


class Number(enum.IntEnum):
    """An int that is not exactly one."""

    ONE = 1


class Odd:
    """No attribute value."""

    def __repr__(self):  # noqa: D105
        return "<Odd>"


class Picky(NonRecordingSpan):
    """A span of somebody's own."""


def attributes():
    """Attributes by their place in this list, made anew for each run: programs change some of them."""
    return [
        None,
        {},
        {"a": "x"},
        {"a": "x", "b": "y", "c": 1},
        {"c": 1, "b": "y", "a": "x"},
        {"a": 1},
        {"a": True},
        {"a": 1.0},
        {"a": 0.0},
        {"a": -0.0},
        {"a": float("nan")},
        {"a": ["x", "y"]},
        {"a": ("x", "y")},
        {"a": {"k": 1}, "b": "y"},
        {"a": None},
        {"a": b"x"},
        {"": "x", "b": "y"},
        {1: "x"},
        {"a": Odd()},
        {"a": Text("x")},
        {Text("a"): "x"},
        {"a": Number.ONE},
        {"a": 1 << 70},
        {f"k{number}": f"v{number}" for number in range(40)},
        MappingProxyType({"a": "x"}),
        "no mapping",
        [("a", "x")],
    ]


CHANGES = [("a", "x"), ("a", 1), ("b", "z"), ("a", ["x"]), ("d", 2.5)]

AMOUNTS = [
    1,
    2,
    0,
    -1,
    0.5,
    1.5,
    -0.0,
    -2.5,
    5,
    5.0,
    7.25,
    10_001,
    1e300,
    (1 << 53) + 1,
    1 << 63,
    10**400,
    float("inf"),
    float("-inf"),
    float("nan"),
    True,
    Decimal("1.5"),
    Fraction(1, 2),
    "1",
    None,
]


def _context(flags, *, remote=False, kind=NonRecordingSpan, number=7):
    return set_span_in_context(
        kind(SpanContext(number << 64 | number, number, remote, TraceFlags(flags))), Context({"mine": 1})
    )


CONTEXTS = [
    None,
    Context(),
    _context(1),
    _context(0),
    _context(1, remote=True, number=9),
    _context(1, kind=Picky, number=11),
    set_span_in_context(INVALID_SPAN, Context()),
    set_span_in_context(NonRecordingSpan(SpanContext(0, 0, is_remote=False)), Context()),
]
