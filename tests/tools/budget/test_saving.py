"""What telemetry costs a service in each way: one estimate, and an interval that says how sure it is."""

from __future__ import annotations

import random

import pytest

from otel_fastpath.tools.bench.saving import LEAST_ROUNDS, estimate


def rounds(number, noise=0.0, seed=1):
    """Rounds of a service whose telemetry costs 100 us, and 40 us with otel-fastpath."""
    draw = random.Random(seed)  # noqa: S311  # no secret
    return [[cost + draw.uniform(-noise, noise) for _ in range(number)] for cost in (200, 300, 240)]


def test_the_estimate_is_that_of_the_medians():
    """The costs in the table are those that the share is made of."""
    found = estimate([200, 190, 900, 210, 200], [300, 300, 310, 100, 300], [240, 240, 260, 230, 900])

    assert (found.bare, found.stock, found.fastpath) == (200, 300, 240)
    assert found.value == pytest.approx(0.6)


@pytest.mark.parametrize("number", range(1, LEAST_ROUNDS + 2))
def test_an_interval_comes_from_five_rounds_or_more(number):
    """It is not of width zero because there was one round."""
    found = estimate(*rounds(number, 5))

    assert found.is_clear
    assert (found.interval is not None) == (number >= LEAST_ROUNDS)
    if found.interval:
        assert found.interval[0] < found.interval[1]
        assert found.interval[0] <= found.value <= found.interval[1]


def test_the_interval_holds_the_truth():
    """In nine of ten measurements, about."""
    held = 0
    for seed in range(60):
        found = estimate(*rounds(7, 20, seed))
        held += found.interval is not None and found.interval[0] <= 0.6 <= found.interval[1]

    assert held >= 48


def test_what_is_noise_is_not_clear():
    """Rounds that vary more than telemetry costs."""
    found = estimate(*rounds(5, 400))

    assert not found.is_clear
    assert found.interval is None


def test_no_more_is_saved_than_it_costs():
    """Where otel-fastpath's cost is about nothing, rounds in which it is less do not say more than all."""
    found = estimate([200.0] * 5, [300, 300, 310, 310, 300], [201, 190, 203, 190, 202])

    assert found.is_known
    assert found.interval is not None
    assert found.interval[1] == 1.0
