"""The metrics that every pool has, of pools that are made up."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_fastpath.db.options import DatabaseOptions
from otel_fastpath.db.pools import NAME_KEY, STATE_KEY, PoolMetrics, WatchedPool
from otel_fastpath.db.query_plans import Active
from otel_fastpath.wrapping.library import Setup

PREFIX = "db.client.connection."


class _Pool(WatchedPool):
    """One that says what it is told to."""

    def __init__(self, name="", idle=0, used=0):
        super().__init__()
        self.server, self.idle, self.used, self.is_there = name, idle, used, True

    @property
    def is_open(self):
        return self.is_there

    def server_name(self):
        return self.server

    def count(self):
        return {"idle": self.idle, "used": self.used}


class Given:
    """Metrics of pools, and what is read of them.

    Attributes:
        pools: Those that there are.
        current: The library's set-up.
        metrics: The instruments.
    """

    def __init__(self):
        self._reader = InMemoryMetricReader()
        provider = MeterProvider([self._reader], shutdown_on_exit=False)
        self._active = self.current = Active(Setup({"meter_provider": provider}), "subject", DatabaseOptions())
        self.pools = []
        self.metrics = PoolMetrics(self._active, lambda: self.current, "subject", self.pools)

    def points(self):
        """Metric -> (pool, state) -> the value; of a histogram the number of measurements."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name.removeprefix(PREFIX): {
                (point.attributes[NAME_KEY], point.attributes.get(STATE_KEY)): getattr(point, "value", None)
                if hasattr(point, "value")
                else point.count
                for point in metric.data.data_points
            }
            for metric in data.resource_metrics[0].scope_metrics[0].metrics
            if metric.name.startswith(PREFIX)
        }


@pytest.fixture
def given(instrumentor, core):
    """Instruments, on each of the cores."""
    instrumentor.instrument(core=core, telemetry="full", disabled="exceptions")
    return Given()


def test_pools_of_one_name_are_one(given):
    """Their connections are added up; one that is closed has none, and what a library does not know is no metric."""
    closed = _Pool("a", 7, 7)
    closed.is_there = False
    given.pools += [_Pool("a", 1, 2), _Pool("a", 3, 4), _Pool("b", 5), closed]

    assert given.points() == {
        "count": {("a", "idle"): 4, ("a", "used"): 6, ("b", "idle"): 5, ("b", "used"): 0},
    }


def test_a_pool_has_the_systems_name_until_it_has_connected(given):
    """From then on it keeps the first server's."""
    pool = _Pool()
    given.pools.append(pool)
    assert given.points() == {"count": {("subject", "idle"): 0, ("subject", "used"): 0}}

    for pool.server in ("first", "second"):
        pool.record_connect(given.metrics, 0.0)
    points = given.points()
    assert points["count"] == {("first", "idle"): 0, ("first", "used"): 0}
    assert points["create_time"] == {("first", None): 2}


def test_what_takes_time_is_measured_when_it_happens(given):
    """A connection that was not borrowed, or is returned twice, was not used."""
    pool, connection = _Pool("a"), object()
    pool.record_release(given.metrics, connection)
    pool.record_acquire(given.metrics, connection, 0.0)
    assert pool.borrowed.keys() == {connection}
    pool.record_release(given.metrics, connection)
    pool.record_release(given.metrics, connection)
    pool.record_timeout(given.metrics)

    assert given.points() == {
        "wait_time": {("a", None): 1},
        "use_time": {("a", None): 1},
        "timeouts": {("a", None): 1},
    }
    assert pool.borrowed == {}


def test_another_set_up_tells_of_the_pools(given):
    """What was made for the one before is silent, so that no connection is counted twice."""
    given.pools.append(_Pool("a", 1))
    given.current = None

    assert given.points() == {}


def test_instruments_are_bound_anew_for_another_set_up(given):
    """A pool lives longer than a set-up."""
    pool, other = _Pool("a"), Given()
    pool.record_timeout(given.metrics)
    pool.record_timeout(other.metrics)
    pool.record_timeout(other.metrics)

    assert (given.points(), other.points()) == ({"timeouts": {("a", None): 1}}, {"timeouts": {("a", None): 2}})
