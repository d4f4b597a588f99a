"""Random programs of log calls: with the fast path, exporters get what stock OpenTelemetry gives them."""

from __future__ import annotations

import logging
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from logpairs.world import SEVERITIES, SPAN, World
from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.context import Context
from stock_or_fastpath import stock

from otel_fastpath.patching import faults

pytestmark = [
    pytest.mark.filterwarnings("ignore:.LoggingHandler. in .opentelemetry-sdk. is deprecated"),
]


class Shown:
    """An object with a text."""

    def __str__(self):
        """The text."""
        return "shown"


class Broken:
    """An object without."""

    def __str__(self):
        """An error."""
        raise ValueError("no text")


def raised():
    """An exception that was raised."""
    try:
        {}["missing"]
    except KeyError as error:
        return error


RAISED = raised()
ATOMS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=6)
VALUES = st.recursive(
    ATOMS | st.binary(max_size=3) | st.builds(Shown),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
KEYS = st.sampled_from(["a", "b", "event.name", "otel.event.name", "code.line.number", "exception.type", "message", ""])
EVENTFUL = {"event.name", "otel.event.name"}
ATTRIBUTES = st.dictionaries(KEYS | st.text(max_size=3), ATOMS | VALUES, max_size=5)
# An event's name that is no text is the loss of the batch, stock.
EXTRA = ATTRIBUTES.map(lambda each: {key: str(value) if key in EVENTFUL else value for key, value in each.items()})
MESSAGES = (
    st.tuples(st.text(max_size=6).filter(lambda text: "%" not in text), st.just(()))
    | st.tuples(st.just("%s and %s"), st.tuples(ATOMS | VALUES | st.builds(Broken), ATOMS))
    | st.tuples(st.just("%d"), st.tuples(st.integers() | st.text(max_size=2)))
    | st.tuples(VALUES | st.builds(Broken), st.just(()))
    | st.tuples(st.just("%(a)s"), st.just({"a": 1}))
)
ERRORS = st.none() | st.sampled_from([RAISED, ValueError(), OSError(2, "No such file")])
LOGS = st.builds(
    lambda name, level, message, extra, error: {
        "name": name,
        "level": level,
        "msg": message[0],
        "args": message[1],
        "extra": extra,
        "error": error,
    },
    st.sampled_from(["one", "two"]),
    st.integers(-1, 60),
    MESSAGES,
    EXTRA,
    ERRORS,
)
PARTS = st.fixed_dictionaries(
    {"severity_number": st.sampled_from(SEVERITIES)},
    optional={
        "timestamp": st.integers(0, 2**64 - 1),
        "severity_text": st.text(max_size=4),
        "body": VALUES,
        "attributes": st.none() | ATTRIBUTES,
        "event_name": st.none() | st.text(max_size=4),
        "context": st.sampled_from([None, Context(), Context({"a": 1}), trace.set_span_in_context(SPAN)]),
        # Since 1.42.
        **({"exception": ERRORS} if "exception" in vars(LogRecord()) else {}),
    },
)
STEPS = st.one_of(
    st.tuples(st.just("log"), st.booleans(), LOGS),
    st.tuples(st.just("emit"), st.booleans(), PARTS),
    st.tuples(st.just("record"), st.booleans(), PARTS),
)
SHAPES = st.sampled_from(
    [("batch",), ("batch",), ("marking", "batch"), ("batch", "marking"), ("batch", "batch"), ("simple",), ()]
)
LIMIT = st.none() | st.integers(0, 4)
LIMITS = st.none() | st.tuples(LIMIT, LIMIT)
KINDS = st.sampled_from(["sdk", "instrumentation", "instrumentation", "code"])
EXTRAS = st.sampled_from(["", "", "filter", "formatter"])


# Stock does not clean what the exception replaces.
REPLACED = {
    "name": "one",
    "level": 40,
    "msg": "x",
    "args": (),
    "extra": {"exception.type": {"": None}},
    "error": KeyError(),
}


def check(shape, kind, limits, extra, program):
    """Run the program both ways and compare."""
    raise_exceptions, logging.raiseExceptions = logging.raiseExceptions, False
    counts = faults.counts()
    try:
        with stock():
            expected = World(shape, kind, limits, extra).run(program)
        found = World(shape, kind, limits, extra).run(program)
    finally:
        logging.raiseExceptions = raise_exceptions
    assert faults.counts() == counts
    for mine, theirs in zip(found[0], expected[0], strict=True):
        assert mine == theirs
    for mine, theirs in zip(found[1], expected[1], strict=True):
        # Where stock loses a batch, it is sent.
        assert mine == theirs or isinstance(theirs, str)
        assert isinstance(mine, bytes)
    assert found[2:] == expected[2:]


@pytest.mark.proves(
    "logs.batch_on_emit",
    "logs.emit",
    "logs.handler_emit",
    "logs.handler_handle",
    "logs.instrumentation_emit",
    "logs.instrumentation_handle",
    "otlp.http_logs",
    "otlp.grpc_logs",
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=SHAPES, kind=KINDS, limits=LIMITS, extra=EXTRAS, program=st.lists(STEPS, max_size=5))
@example(shape=("batch",), kind="sdk", limits=None, extra="", program=[("log", False, REPLACED)])
def test_programs_export_the_same(fast, shape, kind, limits, extra, program):  # noqa: ARG001  # the fast path is in place
    """Records, requests, warnings."""
    check(shape, kind, limits, extra, program)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=SHAPES, kind=KINDS, limits=LIMITS, extra=EXTRAS, program=st.lists(STEPS, max_size=8))
def test_many_programs_export_the_same(fast, shape, kind, limits, extra, program):  # noqa: ARG001  # likewise
    """The same with more of them."""
    check(shape, kind, limits, extra, program)


def test_the_short_way_is_taken(fast):  # noqa: ARG001  # likewise
    """Otherwise the programs above would compare stock with itself."""
    refused = sys.modules["otel_fastpath.logs.refused"].counts()
    world = World(("batch",), "instrumentation", None, "")
    record = logging.LogRecord("one", logging.INFO, __file__, 1, "x", (), None)
    world.handler.handle(record)
    world.provider.get_logger("direct").emit(body="x", attributes={"a": [1]})
    world.provider.force_flush()

    [exporter] = world.exporters
    records = exporter.get_finished_logs()
    assert {type(each).__module__ for each in records} == {"otel_fastpath.logs.records.record_class"}
    # A record that came through stock's `on_emit` has stock's container.
    assert [each.bounded_attributes for each in records] == [None, None]
    assert sys.modules["otel_fastpath.logs.refused"].counts() == refused
    world.provider.shutdown()
