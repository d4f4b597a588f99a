"""Estimates: medians of pairs, and intervals over processes that cover what they say."""

from __future__ import annotations

import random
from statistics import median

import pytest

from otel_fastpath.tools.budget import estimate


def test_the_interval_covers_the_median_as_often_as_it_says():
    """Checked on lopsided data: the interval knows nothing of the distribution."""
    source = random.Random(3)  # noqa: S311  # no secret
    truth = 2**0.5
    for count in (3, 5, 6, 10):
        covered = confidence = 0
        for _ in range(2000):
            interval = estimate.over_processes([source.betavariate(2, 2) ** -0.5 for _ in range(count)])
            covered += interval.low <= truth <= interval.high
            confidence = interval.confidence
        assert covered / 2000 == pytest.approx(confidence, abs=0.03)
        assert confidence >= 0.75


def test_one_process_gives_no_confidence():
    """It is an estimate all the same."""
    assert estimate.over_processes([2.0]) == estimate.Interval(2.0, 2.0, 2.0, 0.0)


def test_a_common_state_of_the_machine_cancels_out():
    """A machine that is three times slower in half of the cycles changes no ratio."""
    state = [1.0, 3.0] * 50
    times = {
        "bare": [1000 * s for s in state],
        "instrumented": [1500 * s for s in state],
        "unit": [2000 * s for s in state],
        "other": [4000 * s for s in state],
    }

    found = estimate.overhead(times, "unit", "other")

    assert (found["ref"], found["bare"], found["control"]) == (0.25, 0.5, 2.0)
    assert found["us"] == pytest.approx(median([0.5, 1.5]))


def test_a_regression_is_a_ratio_of_overheads():
    """What the bare call costs is no part of it."""
    times = {
        "head.bare": [1000.0] * 9,
        "head.instrumented": [1300.0] * 9,
        "base.bare": [500.0] * 9,
        "base.instrumented": [700.0] * 9,
    }

    found = estimate.regression(times)

    assert found["base"] == pytest.approx(1.5)
    assert found["clear"] == 1.0


def test_a_hook_that_costs_nothing_is_not_clear():
    """A ratio to nothing is none."""
    times = {name: [1000.0] * 9 for name in ("head.bare", "head.instrumented", "base.bare", "base.instrumented")}

    assert estimate.regression(times)["clear"] == 0.0
