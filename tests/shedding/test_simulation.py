"""The guard in a simulated service with measured prices: the control law is the one that runs in services."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.guard import simulation
from otel_fastpath.shedding import control

SERVICES = simulation.read_prices()
# Of the way from the floor to the share with nothing shed.
WAYS = (0.2, 0.5, 0.8)


@pytest.fixture(params=SERVICES)
def prices(request):
    """The prices of each service that was measured."""
    return SERVICES[request.param]


@pytest.mark.parametrize("way", WAYS)
def test_a_step_of_five_times_the_load_is_held_within_ten_seconds(prices, way):
    """From then on, telemetry takes at most a tenth more than the limit, and at most the limit half a minute later."""
    limit = simulation.floor(prices) + way * (simulation.whole(prices) - simulation.floor(prices))
    points = list(simulation.simulate(prices, limit, simulation.steady(150, 60) + simulation.steady(750, 120)))

    assert points[60].share > limit
    assert max(windows(points[70:], "share")) <= 1.1 * limit
    assert max(windows(points[100:], "share")) <= limit
    assert points[-1].state.level >= control.NO_INTERNAL_SPANS


@pytest.mark.parametrize("way", WAYS)
def test_it_does_not_oscillate(prices, way):
    """At most two changes of level in any minute of a steady load, and the probability settles."""
    limit = simulation.floor(prices) + way * (simulation.whole(prices) - simulation.floor(prices))
    points = list(simulation.simulate(prices, limit, simulation.steady(750, 900)))

    levels = [point.state.level for point in points]
    changes = [number for number in range(30, len(levels)) if levels[number] != levels[number - 1]]
    assert all(sum(low <= each < low + 60 for each in changes) <= 2 for low in range(900))
    settled = [point.state.probability for point in points[300:] if point.state.level == control.FEWER_TRACES]
    assert not settled or max(settled) <= 1.4 * min(settled)


def test_it_comes_back_when_the_load_is_gone(prices):
    """Nothing is shed any more three minutes after the load has fallen."""
    limit = simulation.floor(prices) + 0.5 * (simulation.whole(prices) - simulation.floor(prices))
    seconds = simulation.steady(750, 120) + simulation.steady(20, 180)
    points = list(simulation.simulate(prices, limit, seconds))

    assert points[119].state.level > control.EVERYTHING
    assert (points[-1].state.level, points[-1].state.probability) == (control.EVERYTHING, 1.0)


def test_a_limit_below_the_floor_is_told(prices):
    """Everything is shed, and the guard knows that it is not enough."""
    limit = 0.8 * simulation.floor(prices)
    *_, last = simulation.simulate(prices, limit, simulation.steady(750, 300))

    assert last.state.is_at_floor
    assert (last.state.level, last.state.probability) == (control.FEWER_LOGS, control.LOWEST)


def test_requests_of_sampled_callers_are_never_shed(prices):
    """If all callers have sampled, the probability changes nothing: the floor is higher, and it is told."""
    kept = prices.kept + prices.export
    limit = 0.5 * (simulation.floor(prices) + kept / (kept + prices.application))
    *_, last = simulation.simulate(prices, limit, simulation.steady(750, 300, sampled_parents=1.0))

    assert last.state.is_at_floor


def windows(points, name):
    """The average of each five seconds: exports come in bursts."""
    values = [getattr(point, name) for point in points]
    return [sum(values[start : start + 5]) / 5 for start in range(len(values) - 4)]
