"""Exponential histograms: code of others in the place of stock's is called, threads lose nothing, stock goes on."""

from __future__ import annotations

import sys
import threading

import pytest
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics._internal import aggregation
from opentelemetry.sdk.metrics._internal.exponential_histogram.buckets import Buckets
from opentelemetry.sdk.metrics._internal.exponential_histogram.mapping import logarithm_mapping
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation

EXPONENTIAL = aggregation._ExponentialBucketHistogramAggregation
AMOUNTS = (1.5, 0.25, 700.0, 3, 0, 1.5)
THREADS = 4
RECORDS = 2000


def provided(temporality=AggregationTemporality.CUMULATIVE, **options):
    """A histogram and its reader."""
    reader = InMemoryMetricReader(
        preferred_temporality={Histogram: temporality},
        preferred_aggregation={Histogram: ExponentialBucketHistogramAggregation(**options)},
    )
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    return provider.get_meter("exponential").create_histogram("sizes"), reader


def point_of(reader):
    """The one point there is."""
    (metric,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    return metric.data.data_points[0]


def held_by(histogram):
    """Stock's aggregation."""
    (storage,) = histogram._measurement_consumer._reader_storages.values()
    (match,) = storage._instrument_view_instrument_matches[histogram]
    (found,) = match._attributes_aggregation.values()
    return found


def counts_of(called):
    """What is measured and collected with something replaced; how often that was called with known series."""
    histogram, reader = provided()
    for _ in range(3):
        for amount in AMOUNTS:
            histogram.record(amount)
        point_of(reader)
    del called[:]
    for amount in AMOUNTS:
        histogram.record(amount)
    point = point_of(reader)
    return len(called), point


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (EXPONENTIAL, "aggregate"),
        (EXPONENTIAL, "collect"),
        (EXPONENTIAL, "_merge"),
        (Buckets, "increment_bucket"),
        (Buckets, "get_offset_counts"),
        (logarithm_mapping.LogarithmMapping, "map_to_index"),
        (logarithm_mapping, "get_ieee_754_mantissa"),
    ],
)
def test_what_is_replaced_is_called(instrumentor, core, monkeypatch, owner, name, first):
    """Before this package instruments, and after."""
    called = []
    original = getattr(owner, name)

    def counted(*args, **more):
        called.append(name)
        return original(*args, **more)

    expected = counts_of([])[1]
    if not first:
        instrumentor.instrument(core=core, disabled="exceptions")
    monkeypatch.setattr(owner, name, counted)
    if first:
        instrumentor.instrument(core=core, disabled="exceptions")
    number, point = counts_of(called)

    assert number
    assert (point.count, point.scale, point.positive, point.zero_count) == (
        expected.count,
        expected.scale,
        expected.positive,
        expected.zero_count,
    )


class OwnBuckets(Buckets):
    """Somebody's: counts twice."""

    def increment_bucket(self, bucket_index, increment=1):
        """Twice."""
        super().increment_bucket(bucket_index, 2 * increment)


class OwnMapping(logarithm_mapping.LogarithmMapping):
    """Somebody's: one bucket for all."""

    _mappings = {}  # as stock's

    def map_to_index(self, value):  # noqa: ARG002  # as stock's
        """The first."""
        return 0


@pytest.mark.usefixtures("instrumented")
def test_buckets_of_others_are_asked():
    """In an aggregation that is known."""
    histogram, reader = provided()
    for _ in range(4):
        histogram.record(1.5)
    held = held_by(histogram)
    held._value_positive.__class__ = OwnBuckets
    histogram.record(1.5)

    assert sum(held._value_positive.counts) == 6
    assert sum(point_of(reader).positive.bucket_counts) == 6


@pytest.mark.usefixtures("instrumented")
def test_a_mapping_of_others_is_asked():
    """Likewise."""
    histogram, reader = provided()
    for _ in range(4):
        histogram.record(1.0001)
    point_of(reader)
    held_by(histogram)._mapping = OwnMapping(20)
    for _ in range(2):
        histogram.record(700)

    assert held_by(histogram)._value_positive.index_start == 0


@pytest.mark.parametrize("temporality", [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])
def test_stock_goes_on_where_this_package_stopped(instrumentor, core, temporality):
    """Half with it, half without: one histogram."""
    amounts = [0.1 * number for number in range(1, 60)]
    points = []
    for stops in (False, True):
        histogram, reader = provided(temporality, max_size=20)
        if stops:
            instrumentor.instrument(core=core, disabled="exceptions")
        for number, amount in enumerate(amounts):
            histogram.record(amount)
            if number == 40 and stops:
                instrumentor.uninstrument()
            if number == 20:
                point_of(reader)
        points.append(point_of(reader))

    stock, ours = points
    assert (ours.count, ours.scale, ours.positive, ours.min, ours.max) == (
        stock.count,
        stock.scale,
        stock.positive,
        stock.min,
        stock.max,
    )


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("temporality", [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])
def test_threads_lose_nothing(temporality):
    """While the reader collects, and scales and buckets change."""
    histogram, reader = provided(temporality, max_size=40)
    done = threading.Event()
    seen = []

    def collect():
        data = reader.get_metrics_data()
        if data is not None:
            point = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points[0]
            seen.append((point.count, sum(point.positive.bucket_counts) + point.zero_count))

    def keep_collecting():
        while not done.is_set():
            collect()

    def record(first):
        for number in range(RECORDS):
            histogram.record((first + number % 50) * 0.37)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        collector = threading.Thread(target=keep_collecting)
        recorders = [threading.Thread(target=record, args=(number,)) for number in range(THREADS)]
        for thread in (collector, *recorders):
            thread.start()
        for thread in recorders:
            thread.join()
        done.set()
        collector.join()
    finally:
        sys.setswitchinterval(before)
    collect()

    assert all(count == in_buckets for count, in_buckets in seen)
    total = sum(count for count, _ in seen) if temporality is AggregationTemporality.DELTA else seen[-1][0]
    assert total == THREADS * RECORDS
