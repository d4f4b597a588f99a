"""Beside redis-py's own metrics: each duration is recorded once."""

from __future__ import annotations

import pytest
import redis

observability = pytest.importorskip("redis.observability", reason="this redis-py has no metrics of its own")

DURATION = "db.client.operation.duration"


@pytest.fixture
def own(monkeypatch, seen):
    """Turn redis-py's metrics on; they go to the global provider."""
    from opentelemetry import metrics
    from redis.observability import metrics as collected
    from redis.observability import recorder
    from redis.observability.providers import reset_observability_instance

    monkeypatch.setattr(metrics._internal, "_METER_PROVIDER", seen.meter_provider)
    recorder.reset_collector()
    reset_observability_instance()

    def turn_on(*groups):
        assert collected.OTEL_AVAILABLE
        observability.get_observability_instance().init(observability.OTelConfig(metric_groups=list(groups)))

    yield turn_on
    reset_observability_instance()
    recorder.reset_collector()


def _scopes(seen):
    """The number of durations for each scope."""
    return {
        scope.scope.name: sum(point.count for point in metric.data.data_points)
        for resource in seen._reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == DURATION
    }


@pytest.mark.proves("redis.observability.*")
@pytest.mark.parametrize("ours_first", [True, False])
def test_durations_are_not_recorded_twice(own, wrap, run, seen, ours_first):
    """In either order, also for a client that was used before; the spans are ours in any case."""
    group = observability.MetricGroup.COMMAND
    if not ours_first:
        own(group)
    wrap()

    def main(client):
        if ours_first:
            client.get("a")
            own(group)
        seen.spans()
        client.get("a")

    run(main)

    assert seen.names() == ["GET"]
    found = _scopes(seen)
    assert found.pop("otel_fastpath.redis", 0) == (1 if ours_first else 0)
    assert list(found.values()) == [1]


def test_turned_off_ours_are_recorded_again(own, wrap, run, seen):
    """And with metrics of other groups only, they never stop."""
    wrap()

    def main(client):
        own(observability.MetricGroup.COMMAND)
        observability.get_observability_instance().shutdown()
        client.get("a")
        own(observability.MetricGroup.CONNECTION_BASIC)
        client.get("a")

    run(main)

    assert _scopes(seen)["otel_fastpath.redis"] == 2


def test_without_ours_nothing_changes(own, run, seen):
    """redis-py's own work as they do."""
    own(observability.MetricGroup.COMMAND)
    run(lambda client: client.get("a"))

    assert list(_scopes(seen).values()) == [1]
    assert redis.Redis is not None
