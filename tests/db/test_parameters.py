"""The text of a query's parameters: short, whatever they are, and made without code of the application."""

from __future__ import annotations

import datetime as dt
import enum
import tracemalloc
import uuid
from collections import OrderedDict, UserDict
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_fastpath.db.conventions import shorten
from otel_fastpath.db.queries.parameters import attributes_of, text_of

LONGEST = 256
MEGABYTE = 1 << 20
PREFIX = "db.query.parameter."


class Colour(enum.Enum):
    """Of no type of Python's own."""

    RED = 1


class Number(enum.IntEnum):
    """An int."""

    SEVEN = 7


class Point(NamedTuple):
    """A tuple."""

    x: int
    y: int


def hostile(base):
    """A class whose methods, which are the application's, raise, as a subclass of a type of Python's own."""

    def raising(*_args, **_kwargs):
        raise AssertionError

    names = ("__repr__", "__str__", "__iter__", "__len__", "__getitem__", "__sizeof__", "__bool__", "__hash__")
    return type("Hostile", (base,), {**dict.fromkeys((*names, "__eq__", "items", "isoformat"), raising)})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (7, "7"),
        (0.5, "0.5"),
        (1j, "1j"),
        ("text", "text"),
        ("ß\u20ac", "ß\u20ac"),
        (b"\xffab", r"b'\xffab'"),
        (bytearray(b"\x00"), r"bytearray(b'\x00')"),
        (Decimal("1.50"), "1.50"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.timezone.utc), "2026-01-02 03:04:00+00:00"),
        (dt.timedelta(days=1), "1 day, 0:00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ([1, "a", None], "[1, 'a', None]"),
        ((1, b"a"), "(1, b'a')"),
        ({7}, "{7}"),
        ({"a": [1, {"b": 2}]}, "{'a': [1, {'b': 2}]}"),
        ([[[[1]]]], "[[[<builtins.list>]]]"),
        (Number.SEVEN, "7"),
        (Colour.RED, f"<{__name__}.Colour>"),
        (memoryview(b"secret"), "<builtins.memoryview>"),
        (10**10_000, "<builtins.int>"),
        (Decimal("1" * 10_000), "<decimal.Decimal>"),
        (Point(1, 2), "(1, 2)"),
        (UserDict(a=1), "<collections.UserDict>"),
        (hostile(object)(), f"<{__name__}.Hostile>"),
        ([hostile(object)()], f"[<{__name__}.Hostile>]"),
        (hostile(str)("text"), "text"),
        ([hostile(str)("text")], "['text']"),
        (hostile(bytes)(b"text"), "b'text'"),
        (hostile(int)(7), "7"),
        (hostile(float)(0.5), "0.5"),
        (hostile(list)([1]), "[1]"),
        (hostile(dict)(a=1), "{'a': 1}"),
        (hostile(dt.date)(2026, 1, 2), "2026-01-02"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_text_of_a_value(value, text):
    """That of Python's own type; of any other, the type."""
    assert text_of(value) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes() | st.uuids(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


# A busy machine is slow to generate them.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_any_value_is_a_short_text(value):
    """Python's own text of it, as long as it is short and not too deep."""
    text = text_of(value)

    assert len(text) <= LONGEST
    if isinstance(value, (int, float, bytes)):
        assert text == repr(value)[:LONGEST]
    elif isinstance(value, str):
        assert text == value[:LONGEST]


@pytest.mark.parametrize(
    "value",
    [
        "x" * MEGABYTE,
        b"x" * MEGABYTE,
        bytearray(MEGABYTE),
        ["x" * MEGABYTE] * 10,
        [[0] * MEGABYTE] * 10,
        list(range(MEGABYTE)),
        dict.fromkeys(range(MEGABYTE)),
        {"x" * MEGABYTE: b"x" * MEGABYTE},
        1 << (8 * MEGABYTE),
    ],
    ids=["str", "bytes", "bytearray", "strings", "lists", "list", "dict", "pair", "int"],
)
def test_a_large_value_is_not_copied(value):
    """Nor is it all read."""
    text_of(value)
    tracemalloc.start()
    try:
        text = text_of(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(text) <= LONGEST
    assert peak < MEGABYTE // 16


def test_a_raising_time_zone_is_no_error():
    """It is the one thing of the application's that a text of Python's own asks."""

    class Nowhere(dt.tzinfo):
        def utcoffset(self, _moment):
            raise RuntimeError

    assert text_of(dt.datetime(2026, 1, 1, tzinfo=Nowhere())) == "<?>"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (None, {}),
        ((), {}),
        ((1, "a"), {"0": "1", "1": "a"}),
        ([1], {"0": "1"}),
        ({"name": "a", 7: b"b"}, {"name": "a", "7": "b'b'"}),
        (OrderedDict(a=1), {"a": "1"}),
        ("alone", {"0": "alone"}),
        (UserDict(a=1), {"0": "<collections.UserDict>"}),
        (hostile(tuple)([1]), {"0": "1"}),
        ({"k" * 1000: 1}, {"k" * 64: "1"}),
        ((number for number in range(3)), {"0": "<builtins.generator>"}),
    ],
)
def test_the_keys_of_parameters(parameters, expected):
    """Positions or names; what could be consumed is not."""
    assert attributes_of(parameters) == {f"{PREFIX}{key}": value for key, value in expected.items()}


@pytest.mark.parametrize("parameters", [list(range(40_000)), {f"p{number}": number for number in range(40_000)}])
def test_there_are_not_too_many(parameters):
    """The first 32 of them."""
    found = attributes_of(parameters)

    assert list(found.values()) == [str(number) for number in range(32)]


@pytest.mark.parametrize(
    "value",
    [
        *([], (), {}, set(), {7}, (1,), [b"a", "b'"], [dt.date(2026, 1, 2), Decimal("1.5"), None, Colour.RED]),
        {"a": [1, {"b": ({2},)}], 7: "x"},
        ["x" * 100, "y" * 1000, "z"],
        {"x" * 100: "y" * 1000, "z": 1},
        [[[["x" * 10, "y" * 10]] * 3] * 3] * 3,
        list(range(1000)),
    ],
)
def test_the_option_parameters_writes_as_python_does(value):
    """Up to the length; without quotes around a text by itself."""
    assert shorten(value) == str(value)[:LONGEST]


@pytest.mark.parametrize(
    "make",
    [
        lambda text: {str(key): text for key in range(1000)},
        lambda text: {"a": {str(key): text for key in range(1000)}},
        lambda text: [{text: text}] * 1000,
        lambda text: {text, *range(100_000)},
        lambda text: [[[[text] * 300] * 300] * 300] * 300,
    ],
)
def test_the_option_parameters_reads_no_more_than_it_writes(make):
    """Of dicts, sets and what is in them, too."""
    value = make("x" * MEGABYTE)
    tracemalloc.start()
    try:
        text = shorten(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(text) == LONGEST
    assert peak < MEGABYTE / 8


def test_a_container_that_contains_itself_has_an_end():
    """Its text has the length of any other."""
    value = []
    value.append(value)

    assert shorten(value) == "[" * LONGEST
