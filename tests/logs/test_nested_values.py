"""Values inside of others in a log record's attributes: cleaned as stock's function cleans them, with its warnings."""

from __future__ import annotations

import collections
import contextlib
import enum
import logging
import types

import pytest
from given_records import LIMITS, Setup, close
from hypothesis import given as drawn_by
from hypothesis import settings
from hypothesis import strategies as st
from opentelemetry._logs import LogRecord


class Colour(str, enum.Enum):
    """A text of a class of its own."""

    RED = "crimson"


class Silent:
    """It has no text."""


class Named(collections.UserDict):
    """A mapping that is no dict."""


TEXT = st.text(max_size=6)
PLAIN = (st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT, st.binary(max_size=3))
ODD = st.sampled_from((Colour.RED, Silent, frozenset("a"), bytearray(b"b"), range(3), complex(1, 2), 10**30))
KEYS = st.one_of(st.text(max_size=3), st.sampled_from(("a", "key", 5, None, Colour.RED)))


def around(inner):
    """Containers of each kind around these values."""
    mapping = st.dictionaries(KEYS, inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(collections.deque),
        mapping,
        mapping.map(Named),
        mapping.map(collections.OrderedDict),
        mapping.map(types.MappingProxyType),
    )


VALUES = st.recursive(st.one_of(*PLAIN, ODD), around, max_leaves=12)


@pytest.fixture(autouse=True)
def closed():
    """No thread is left."""
    yield
    close()


def emitted(setup, attributes, caplog):
    """What the exporter gets of attributes by each way, and what was logged."""
    seen = []
    for given in ({"attributes": attributes}, {"record": LogRecord(body="x", attributes=attributes)}):
        with contextlib.suppress(RecursionError):
            setup.logger.emit(**given)
    seen += [each[0] for each in setup.exported()]
    seen += [each.getMessage() for each in caplog.records if each.name == "opentelemetry.attributes"]
    caplog.clear()
    return repr(seen)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.proves("logs.emit")
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", ["batch", "own, batch"])
def test_random_values_are_cleaned_as_in_stock(kind, limits, instrumentor, core, caplog, no_faults):
    """Of any depth, kind and order."""
    caplog.set_level(logging.WARNING, "opentelemetry.attributes")
    stock, fast, drawn = Setup(kind, LIMITS[limits]), Setup(kind, LIMITS[limits]), []

    @settings(max_examples=60, deadline=None, database=None)
    @drawn_by(st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4))
    def draw(attributes):
        drawn.append((attributes, emitted(stock, attributes, caplog)))

    draw()
    instrumentor.instrument(core=core)
    for attributes, expected in drawn:
        assert emitted(fast, attributes, caplog) == expected, attributes
    assert no_faults.counts() == {}


@pytest.mark.proves("logs.emit")
def test_what_contains_itself_or_is_deep_is_left_to_stock(instrumented, caplog):  # noqa: ARG001  # it is applied
    """Stock's function raises an error for the first, which is logged once."""
    setup, deep, ring = Setup(), 1, []
    for _ in range(60):
        deep = [deep]
    ring.append(ring)
    setup.logger.emit(body="x", attributes={"deep": deep})
    setup.logger.emit(body="x", attributes={"ring": ring})
    [only] = setup.exported()

    expected = 1
    for _ in range(60):
        expected = (expected,)
    assert repr(expected) in repr(only)
