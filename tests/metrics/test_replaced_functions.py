"""Functions of the SDK that other code has replaced before this package instruments are called."""

from __future__ import annotations

import json
import sys

import pytest
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, _internal
from opentelemetry.sdk.metrics._internal import aggregation
from opentelemetry.sdk.metrics._internal.instrument import _Synchronous
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader

if not hasattr(_internal, "_ProxyMeterConfig"):
    pytest.skip("meters cannot be disabled in this release", allow_module_level=True)


def _measured():
    """The values, and the buckets, after the same attributes were measured several times."""
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("replaced")
    counter, histogram = meter.create_counter("counter"), meter.create_histogram("histogram")
    for _ in range(4):
        counter.add(1, {"key": "value"})
        histogram.record(1, {"key": "value"})
    data = reader.get_metrics_data()
    scopes = [scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics]
    points = [point for scope in scopes for metric in scope.metrics for point in metric.data.data_points]
    return [list(getattr(point, "bucket_counts", [])) or point.value for point in points]


BUCKETS = (
    aggregation._ExplicitBucketHistogramAggregation,
    "_get_empty_bucket_counts",
    lambda self: [5] * (len(self._boundaries) + 1),
)
ASKED = [
    (_Synchronous, "_is_enabled", lambda _self: False),
    (_internal._ProxyMeterConfig, "is_enabled", property(lambda _self: False)),
]


@pytest.mark.parametrize(("owner", "name", "replacement"), [*ASKED, BUCKETS])
def test_a_function_was_replaced_before(instrumentor, core, monkeypatch, owner, name, replacement):
    """What is measured is what stock measures with it."""
    as_it_was = _measured()
    monkeypatch.setattr(owner, name, replacement)
    expected = _measured()
    instrumentor.instrument(core=core, disabled="exceptions")

    assert expected != as_it_was
    assert _measured() == expected


def _measured_twice(monkeypatch, owner, name, replacement):
    """What is collected after a function was replaced between the measurements of the same instruments."""
    reader = InMemoryMetricReader(
        dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA),
    )
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("replaced")
    counter, histogram = meter.create_counter("counter"), meter.create_histogram("histogram")

    def measure():
        for _ in range(4):
            counter.add(1, {"key": "value"})
            histogram.record(1, {"key": "value"})
        data = reader.get_metrics_data()
        return data and json.dumps(
            [
                [metric.name, [str(getattr(point, "bucket_counts", 0)) for point in metric.data.data_points]]
                for metric in data.resource_metrics[0].scope_metrics[0].metrics
            ]
        )

    before = measure()
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        after = measure()
    return before, after, measure()


@pytest.mark.parametrize(("owner", "name", "replacement"), [*ASKED, BUCKETS])
def test_a_function_is_replaced_later(instrumentor, core, monkeypatch, owner, name, replacement):
    """Likewise. The pure core does not look at them for each measurement."""
    if core == "py" or sys.version_info < (3, 12):
        pytest.skip("it would take 5 % of a measurement")
    expected = _measured_twice(monkeypatch, owner, name, replacement)
    instrumentor.instrument(core=core, disabled="exceptions")

    assert expected[0] != expected[1]
    assert _measured_twice(monkeypatch, owner, name, replacement) == expected
