"""What counts as a difference between runs with stock OpenTelemetry and a run with otel-fastpath."""

from __future__ import annotations

import json

import pytest

from otel_fastpath.tools.verify.comparing import COMBINATION, COUNT, NONE, compare
from otel_fastpath.tools.verify.export_items import Item

SCOPE = "opentelemetry.instrumentation.fastapi"


def span(name="GET /", scope=SCOPE, **fields):
    """A span with these fields."""
    return Item("span", scope, name, {key: json.dumps(value) for key, value in fields.items()})


def told(comparison):
    """Each difference in short."""
    return [(each.name, each.field, each.stock, each.fastpath) for each in comparison.differences]


def test_the_same():
    """In any order."""
    run = [span(a=1), span(a=2), span("other")]

    result = compare([run, run], run[::-1])

    assert told(result) == []
    assert result.varying == []
    assert result.counts == {"span": 3}


@pytest.mark.parametrize(
    ("stock", "fastpath", "expected"),
    [
        ([span(a=1)], [span(a=2)], ("GET /", "a", "1 x 1", "1 x 2")),
        ([span(a=1)], [span(a="1")], ("GET /", "a", "1 x 1", '1 x "1"')),
        ([span(a=1)], [span()], ("GET /", "a", "1 x 1", f"1 x {NONE}")),
        ([span()], [span(a=1)], ("GET /", "a", f"1 x {NONE}", "1 x 1")),
        ([span(), span()], [span()], ("GET /", COUNT, "2", "1")),
        ([span()], [span(), span("new")], ("new", COUNT, "0", "1")),
    ],
    ids=["value", "type", "missing", "additional", "number", "unknown span"],
)
def test_a_difference(stock, fastpath, expected):
    """One field, or the number."""
    assert told(compare([stock, stock], fastpath)) == [expected]


def test_values_that_have_changed_places():
    """Each attribute has the same values as before, on other spans."""
    stock = [span(a=1, b=1), span(a=2, b=2)]

    [(_, field, *_)] = told(compare([stock, stock], [span(a=1, b=2), span(a=2, b=1)]))

    assert field == COMBINATION


def test_what_varies_with_stock_opentelemetry_is_no_difference():
    """A port, for instance; it is named."""
    result = compare([[span(port=1)], [span(port=2)]], [span(port=3)])

    assert told(result) == []
    assert result.varying == [("span", SCOPE, "GET /", "port")]


@pytest.mark.parametrize("other", [span(port="3"), span()], ids=["type", "missing"])
def test_the_type_of_a_varying_value_is_compared(other):
    """Also whether there is a value."""
    [(_, field, *_)] = told(compare([[span(port=1)], [span(port=2)]], [other]))

    assert field == "port"


def test_a_varying_number_of_items_is_compared_by_sets_of_values():
    """The set of values is still the same."""
    stock = [[span(a=1), span(a=2)], [span(a=1), span(a=2), span(a=2)]]

    assert told(compare(stock, [span(a=1), span(a=1), span(a=2)])) == []
    [(_, field, *_)] = told(compare(stock, [span(a=3)]))
    assert field == "a"


def test_items_that_only_stock_opentelemetry_has():
    """Although their number varies."""
    other = span("other")

    result = compare([[span(), other], [span(), span(), other]], [other])

    assert told(result) == [("GET /", COUNT, "1 or 2", "0")]


def test_a_library_with_conventions_of_our_own_is_counted():
    """Its items cannot be compared with those of the stock instrumentation."""
    stock = [span("SELECT", "opentelemetry.instrumentation.asyncpg", a=1)]
    fastpath = [span("SELECT orders", "otel_fastpath.asyncpg", b=1)]

    result = compare([stock, stock], fastpath)

    assert told(result) == []
    assert result.own == {"asyncpg": (1, 1)}


def test_long_values_are_cut():
    """A cell of a table holds no stack trace."""
    [(_, _, stock, _)] = told(compare([[span(a="x" * 1000)]] * 2, [span(a="y")]))

    assert len(stock) < 80
