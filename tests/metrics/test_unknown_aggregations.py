"""A change in one of stock's aggregations, filters or reservoirs costs that one, and not the patches of metrics."""

from __future__ import annotations

import sys

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics._internal.aggregation import _ExplicitBucketHistogramAggregation, _SumAggregation
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_fastpath.metrics import collecting, known_types, planner, set_up
from otel_fastpath.trace.stock_sources import KNOWN

SUM, HISTOGRAM = _SumAggregation, _ExplicitBucketHistogramAggregation


@pytest.mark.parametrize("rests_on", [planner.RESTS_ON, collecting.RESTS_ON])
def test_every_part_is_known(rests_on):
    """Every source that a part rests on is in the file, and the installed release's is among the known ones."""
    assert {place for places in rests_on.values() for place in places} <= KNOWN.places().keys()
    assert known_types.unknown(rests_on, "Test") == frozenset()


def test_a_changed_part_is_named(monkeypatch, logged):
    """Only the type whose method has an unknown source is unknown; the log names it and the function."""
    (place,) = planner.RESTS_ON[SUM]
    monkeypatch.setitem(KNOWN.places(), place, {})

    assert known_types.unknown(planner.RESTS_ON, "Recording") == {SUM}
    (line,) = logged()
    assert "_SumAggregation is left to OpenTelemetry's own code" in line
    assert place in line


def called_in(function):
    """The names of the stock methods that ran, as "Class.method"."""
    names = set()

    def note(frame, event, _argument):
        if event == "call" and "opentelemetry/sdk/metrics" in frame.f_code.co_filename:
            owner = type(frame.f_locals.get("self")).__name__
            names.add(f"{owner}.{frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return names


def points_in(reader):
    """The values of the one counter and the one histogram."""
    data = reader.get_metrics_data()
    metrics = {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    (total,), (histogram,) = (metrics[name].data.data_points for name in ("total", "sizes"))
    return total.value, histogram.count, histogram.sum


@pytest.mark.parametrize("kind", [SUM, HISTOGRAM])
def test_the_others_stay_fast(instrumented, core, kind, monkeypatch):  # noqa: ARG001  # the fast path is on
    """The metrics are right whichever aggregation is unknown; stock's methods run for that one alone."""
    ready = set_up.ready(core)
    monkeypatch.setattr(ready.planner, "_unknown", frozenset({kind}))
    monkeypatch.setattr(ready.collector, "_unknown", frozenset({kind}))
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    meter = provider.get_meter("parts")
    counter, histogram = meter.create_counter("total"), meter.create_histogram("sizes")

    def record():
        counter.add(2, {"a": "b"})
        histogram.record(5, {"a": "b"})

    for _ in range(3):
        record()
    recorded = called_in(record)
    found = []
    collected = called_in(lambda: found.append(points_in(reader)))
    provider.shutdown()

    assert found == [(8, 4, 20)]
    for other in (SUM, HISTOGRAM):
        is_unknown = other is kind
        assert (f"{other.__name__}.aggregate" in recorded) is is_unknown
        assert (f"{other.__name__}.collect" in collected) is is_unknown
