"""Aggregations in states that are rare: points and states are those of stock's own `collect`."""

from __future__ import annotations

import copy
import math
import threading
import time
from fractions import Fraction

import pytest
from opentelemetry.sdk.metrics._internal.aggregation import (
    AggregationTemporality,
    _ExplicitBucketHistogramAggregation,
    _SumAggregation,
)
from opentelemetry.sdk.metrics._internal.exemplar import (
    AlignedHistogramBucketExemplarReservoir,
    SimpleFixedSizeExemplarReservoir,
)

DELTA, CUMULATIVE = AggregationTemporality.DELTA, AggregationTemporality.CUMULATIVE
START = 7
HISTOGRAMS = {
    "nothing yet": {},
    "first": {"_value": [1, 0, 2], "_sum": 3.5, "_min": 0.5, "_max": 9.0},
    "only earlier": {"_previous_value": [1, 0, 2], "_previous_sum": 3.5, "_previous_min": 0.5, "_previous_max": 9},
    "both": {
        "_value": [1, 0, 2],
        "_sum": 3,
        "_min": 1,
        "_max": 9,
        "_previous_value": [4, 5, 0],
        "_previous_sum": 1.5,
        "_previous_min": 1.0,
        "_previous_max": 9.0,
    },
    "beyond": {
        "_value": [1, 0, 2],
        "_sum": math.inf,
        "_min": -1,
        "_max": math.inf,
        "_previous_value": [4, 5, 0],
        "_previous_sum": -math.inf,
        "_previous_min": 0.0,
        "_previous_max": 3,
    },
    "large": {"_value": [1, 0, 2], "_sum": 10**30, "_previous_value": [2**40, 2**41, 2**70], "_previous_sum": 1},
    "below zero": {"_value": [-1, True, 2], "_sum": -0.0, "_previous_value": [1, 0, 0], "_previous_sum": -0.0},
    "fractions": {"_value": [1, 0, 2], "_sum": Fraction(1, 2), "_min": Fraction(1, 2), "_max": Fraction(1, 2)},
    "nan": {"_value": [1, 0, 0], "_sum": math.nan, "_min": math.nan, "_max": math.nan},
}
SUMS = {
    "nothing yet": {"_value": None},
    "first": {"_value": 3},
    "earlier": {"_value": None, "_previous_value": -0.0},
    "both": {"_value": 0.1, "_previous_value": 0.2},
    "int and float": {"_value": 2**80, "_previous_value": 0.5},
    "fractions": {"_value": Fraction(1, 2), "_previous_value": 1},
    "true": {"_value": True, "_previous_value": 1},
}


def histogram(state):
    """One with this state."""
    made = _ExplicitBucketHistogramAggregation(
        {"a": 1}, DELTA, 3, AlignedHistogramBucketExemplarReservoir, boundaries=(1.0, 5.0)
    )
    vars(made).update(copy.deepcopy(state))
    return made


def total(state):
    """A sum with this state."""
    made = _SumAggregation({"a": 1}, True, DELTA, 3, lambda **_given: SimpleFixedSizeExemplarReservoir())  # noqa: FBT003
    vars(made).update(state)
    return made


def points_of(core):
    """The function of this core."""
    if core == "c":
        return pytest.importorskip("otel_fastpath.metrics.points_c").points_of
    from otel_fastpath.metrics import points

    return points.points_of


def seen(aggregation, point):
    """All that can be seen of them."""
    state = {key: repr(value) for key, value in vars(aggregation).items() if key not in {"_lock", "_reservoir"}}
    return state, repr(point), point and [type(each) for each in vars(point).values()], point and list(vars(point))


@pytest.mark.parametrize("temporality", [CUMULATIVE, DELTA])
@pytest.mark.parametrize(
    ("make", "state"),
    [*((histogram, state) for state in HISTOGRAMS.values()), *((total, state) for state in SUMS.values())],
    ids=[*(f"histogram, {name}" for name in HISTOGRAMS), *(f"sum, {name}" for name in SUMS)],
)
def test_points_and_states(core, make, state, temporality):
    """At three collections, with nothing new in between."""
    ours, stock = make(state), make(state)
    for number in range(3):
        (point,) = points_of(core)([ours], temporality, START + number, lambda: None) or [None]
        expected = stock.collect(temporality, START + number)
        assert seen(ours, point) == seen(stock, expected)
        if point is not None:
            assert type(point) is type(expected)


@pytest.mark.parametrize("make", [histogram, total])
def test_who_holds_the_lock_is_waited_for(core, make):
    """What is recorded under it is in the point."""
    aggregation = make({"_value": [1, 0, 0] if make is histogram else 1})
    is_held = threading.Event()

    def record():
        with aggregation._lock:
            is_held.set()
            time.sleep(0.1)
            aggregation._value = [1, 4, 0] if make is histogram else 5

    thread = threading.Thread(target=record)
    thread.start()
    is_held.wait()
    (point,) = points_of(core)([aggregation], CUMULATIVE, START, lambda: None)
    thread.join()
    assert (point.count if make is histogram else point.value) == 5


def test_a_lock_of_others(core):
    """Another kind of lock is taken."""
    taken = []

    class Lock:
        def __enter__(self):
            taken.append(1)

        def __exit__(self, *_error):
            taken.append(-1)

        def locked(self):
            return False

    aggregation = total({"_value": 1, "_lock": Lock()})
    (point,) = points_of(core)([aggregation], CUMULATIVE, START, lambda: None)
    assert point.value == 1
    assert taken == [1, -1]
