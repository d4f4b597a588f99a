"""Random programs: whatever is measured, by whatever provider, what is collected is stock's."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metricpairs.setups import FILTERS, READERS, VIEWS, Setup
from metricpairs.values import AMOUNTS, CHANGES, CONTEXTS, attributes
from metricpairs.world import VERBS, run
from opentelemetry.exporter.otlp.proto.http import metric_exporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from stock_or_fastpath import stock

# OTEL_FASTPATH_TESTS=heavy, or a number of programs.
_ASKED = os.environ.get("OTEL_FASTPATH_TESTS", "")
_EXAMPLES = int(_ASKED) if _ASKED.isdigit() else 5000 if _ASKED == "heavy" else 100
pytestmark = pytest.mark.timeout(60 + _EXAMPLES)


def _place(items, usual):
    """The place of an item in its list, more often one of the usual ones, which come first."""
    return st.one_of(st.integers(0, usual - 1), st.integers(0, len(items) - 1))


def encoded(data):
    """The message of the request with this collection, or what encoding it raises."""
    try:
        content = metric_exporter.encode_metrics(data).SerializeToString()
    except Exception as error:
        return type(error), str(error)
    return ExportMetricsServiceRequest.FromString(content)


def text(data):
    """The JSON of a collection, or what making it raises."""
    try:
        return data.to_json()
    except Exception as error:
        return type(error), str(error)


_record = st.tuples(
    st.just("record"),
    st.sampled_from(sorted(VERBS)),
    _place(AMOUNTS, 8),
    _place(attributes(), 10),
    _place(CONTEXTS, 3),
    st.booleans(),
    st.booleans(),
)
_rest = st.one_of(
    st.tuples(st.just("collect"), st.integers(0, 3)),
    st.tuples(st.just("change"), _place(attributes(), 6), st.integers(0, len(CHANGES) - 1)),
    st.tuples(st.just("switch"), st.booleans()),
    st.tuples(st.just("read_by"), st.sampled_from(sorted(READERS))),
    st.tuples(st.just("unread")),
    st.tuples(st.just("observe"), _place(AMOUNTS, 8)),
)
# Measurements are what there is most of, and the same ones again.
programs = st.lists(st.one_of(_record, _record, _record, _rest), max_size=40).map(lambda steps: [*steps, *steps])
setups = st.builds(
    Setup,
    readers=st.one_of(st.just(("cumulative",)), st.lists(st.sampled_from(sorted(READERS)), max_size=3).map(tuple)),
    views=st.one_of(st.just(()), st.lists(st.sampled_from(sorted(VIEWS)), max_size=3).map(tuple)),
    sampling=st.sampled_from(sorted(FILTERS)),
    seed=st.integers(0, 9),
)


def examples(share):
    """So many, of those that the profile allows."""
    return settings(
        max_examples=int(_EXAMPLES * share),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.mark.proves("metrics.counter", "metrics.updowncounter", "metrics.histogram", "metrics.gauge", "metrics.collect")
@examples(1)
@given(setup=setups, program=programs)
def test_any_program_leaves_the_same_metrics(fast, setup, program):
    """A random program shows stock's points, exemplars, log records and exceptions."""
    del fast
    with stock():
        expected, collected = run(setup, program)
    found, collected_here = run(setup, program)

    assert found == expected
    assert [text(data) for data in collected_here] == [text(data) for data in collected]
    if "nan" not in repr(collected):
        assert collected_here == collected


@pytest.mark.proves("otlp.http_metrics")
@examples(0.5)
@given(setup=setups, program=programs)
def test_any_collection_is_encoded_alike(fast, setup, program):
    """The request's message is stock's; what stock cannot encode is not lost (`tests/otlp/test_bad_items.py`)."""
    del fast
    _, collected = run(setup, program)
    for data in collected:
        with stock():
            expected = encoded(data)

        made = encoded(data)
        assert made == expected or (isinstance(expected, tuple) and not isinstance(made, tuple))
