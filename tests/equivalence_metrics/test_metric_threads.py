"""Random programs in several threads, collected meanwhile: what is summed up is stock's, whoever came first."""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metricpairs.setups import READERS
from metricpairs.values import CONTEXTS, attributes
from opentelemetry.sdk.metrics import (
    AlwaysOffExemplarFilter,
    AlwaysOnExemplarFilter,
    MeterProvider,
    SimpleFixedSizeExemplarReservoir,
    TraceBasedExemplarFilter,
)
from opentelemetry.sdk.metrics.view import View
from stock_or_fastpath import stock

import otel_fastpath

# OTEL_FASTPATH_TESTS=heavy, or a number of programs.
_ASKED = os.environ.get("OTEL_FASTPATH_TESTS", "")
_EXAMPLES = int(_ASKED) if _ASKED.isdigit() else 2000 if _ASKED == "heavy" else 12
pytestmark = pytest.mark.timeout(120 + _EXAMPLES)
# Their sums are exact in any order.
AMOUNTS = [1, 2, 0, 5, 0.5, 1.25, 7.75, 10_001]
VERBS = {"counter": "add", "up_down_counter": "add", "histogram": "record", "gauge": "set"}
PLAIN = 9
# Each thread does its steps so many times, while the reader collects.
REPEATS = 10
COLLECTIONS = 5

# The reservoirs of old SDKs have no lock: they raise into whoever measures while they are collected, stock as well.
_FILTERS = (
    [TraceBasedExemplarFilter, AlwaysOnExemplarFilter]
    if "_lock" in vars(SimpleFixedSizeExemplarReservoir())
    else [AlwaysOffExemplarFilter]
)
_step = st.tuples(
    st.sampled_from(sorted(VERBS)),
    st.sampled_from(AMOUNTS),
    st.integers(0, PLAIN - 1),
    st.integers(0, 3),
    st.booleans(),
)
_threads = st.lists(st.lists(_step, min_size=1, max_size=8), min_size=2, max_size=4)


def _tells_types_apart():
    """Whether 1 and True are two series: to old SDKs equal values are one, which shows the one that came first."""
    reading = READERS["cumulative"]()
    provider = MeterProvider(metric_readers=[reading], shutdown_on_exit=False)
    counter = provider.get_meter("types").create_counter("counter")
    for value in (1, True):
        counter.add(1, {"a": value})
    (metric,) = reading.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    provider.shutdown()
    return len(metric.data.data_points) == 2


_TYPES_ARE_TOLD_APART = _tells_types_apart()


def _shown(value):
    """A value, equal for those that are one to the SDK."""
    return repr(value) if _TYPES_ARE_TOLD_APART or isinstance(value, str) else repr(value + 0.0)


class Totals:
    """What is the same in any order, of all that a reader gave.

    Args:
        is_delta: Whether each collection has only what came after the one before.
    """

    def __init__(self, *, is_delta):
        self._is_delta = is_delta
        self._numbers = defaultdict(lambda: defaultdict(int))
        self.exemplars = set()

    def add(self, data):
        """One more collection."""
        if not self._is_delta:
            # Old SDKs show what a gauge was set to once.
            for key in [key for key in self._numbers if key[0] != "gauge"]:
                del self._numbers[key]
        for metric in data.resource_metrics[0].scope_metrics[0].metrics if data else ():
            for point in metric.data.data_points:
                key = metric.name, tuple(sorted((name, _shown(value)) for name, value in point.attributes.items()))
                self._add_point(self._numbers[key], metric.name, point)
                for exemplar in point.exemplars:
                    self.exemplars.add((*key, repr(exemplar.value), exemplar.trace_id, exemplar.span_id))

    @staticmethod
    def _add_point(numbers, name, point):
        if name == "histogram":
            numbers["sum"] += point.sum
            numbers["count"] += point.count
            for index, count in enumerate(point.bucket_counts):
                numbers[f"bucket {index}"] += count
            numbers["min"] = min(numbers.get("min", point.min), point.min)
            numbers["max"] = max(numbers.get("max", point.max), point.max)
        elif name == "gauge":
            # The last one of them depends on the order.
            numbers["set"] = True
        else:
            numbers["value"] += point.value

    def numbers(self):
        """By metric and attributes."""
        return {key: dict(numbers) for key, numbers in self._numbers.items()}


def run(reader, views, sampling, threads, *, at_once):
    """What comes of the threads' steps, done at once and collected meanwhile, or one after the other."""
    reading = READERS[reader]()
    provider = MeterProvider(metric_readers=[reading], exemplar_filter=sampling(), shutdown_on_exit=False, views=views)
    meter = provider.get_meter("threads")
    instruments = {
        "counter": meter.create_counter("counter"),
        "up_down_counter": meter.create_up_down_counter("up_down_counter"),
        "histogram": meter.create_histogram("histogram"),
        "gauge": meter.create_gauge("gauge"),
    }
    sets = attributes()[:PLAIN]
    bound = {
        (name, which): otel_fastpath.bind(instruments[name], sets[which]) for name in VERBS for which in range(PLAIN)
    }
    totals = Totals(is_delta=reader == "delta")
    barrier = threading.Barrier(len(threads) + 1 if at_once else 1)

    def work(steps):
        barrier.wait()
        for _ in range(REPEATS):
            for name, amount, which, context, is_bound in steps:
                if is_bound:
                    getattr(bound[name, which], VERBS[name])(amount, CONTEXTS[context])
                else:
                    getattr(instruments[name], VERBS[name])(amount, sets[which], CONTEXTS[context])

    if at_once:
        workers = [threading.Thread(target=work, args=(steps,)) for steps in threads]
        for worker in workers:
            worker.start()
        barrier.wait()
        for _ in range(COLLECTIONS):
            totals.add(reading.get_metrics_data())
        for worker in workers:
            worker.join()
    else:
        for steps in threads:
            work(steps)
    totals.add(reading.get_metrics_data())
    provider.shutdown()
    return totals


@pytest.fixture
def switching():
    """Threads take turns as often as the interpreter lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@settings(
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    reader=st.sampled_from(["cumulative", "delta"]),
    keys=st.sampled_from([None, {"a"}]),
    sampling=st.sampled_from(_FILTERS),
    threads=_threads,
)
def test_threads_lose_and_double_nothing(fast, switching, reader, keys, sampling, threads):
    """Sums, counts, buckets and extremes are those of stock; an exemplar is a measurement that was made."""
    del fast, switching
    views = [] if keys is None else [View(instrument_name="*", attribute_keys=keys)]
    with stock():
        expected = run(reader, views, sampling, threads, at_once=False).numbers()

    got = run(reader, views, sampling, threads, at_once=True)

    assert got.numbers() == expected
    made = {(name, repr(amount), _ids(context)) for steps in threads for name, amount, _, context, _ in steps}
    found = {(name, value, (trace, span)) for name, _, value, trace, span in got.exemplars}
    if sampling is AlwaysOnExemplarFilter:
        # Stock's bucket keeps the ids of the span before where there is none now.
        made, found = {each[:2] for each in made}, {each[:2] for each in found}
    assert found <= made


def _ids(which):
    """Trace id and span id of a context of `CONTEXTS`."""
    from opentelemetry import trace

    span = trace.get_current_span(CONTEXTS[which])
    if span is trace.INVALID_SPAN:
        return None, None
    return span.get_span_context().trace_id, span.get_span_context().span_id
