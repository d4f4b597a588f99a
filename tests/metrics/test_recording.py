"""What recording promises beside equal metrics: exact sums from many threads, no memory for what is not seen again."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import threading
from decimal import Decimal

import pytest
from newer_releases import older
from opentelemetry.sdk.metrics import AlwaysOnExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View

import otel_fastpath
from otel_fastpath import compiled
from otel_fastpath.patching import faults

# OTEL_FASTPATH_TESTS=heavy: a million records.
RECORDS = 125_000 if os.environ.get("OTEL_FASTPATH_TESTS") == "heavy" else 5_000
THREADS = 8


@pytest.fixture
def provided(instrumented):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Makes a meter and its reader, under the fast path."""
    made = []

    def make(views=(), exemplar_filter=None, **settings):
        reader = InMemoryMetricReader(**settings)
        made.append(
            MeterProvider(metric_readers=[reader], shutdown_on_exit=False, views=views, exemplar_filter=exemplar_filter)
        )
        return made[-1].get_meter("recording"), reader

    yield make
    for provider in made:
        provider.shutdown()


def points(reader):
    """The points of each metric by its name."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    return {metric.name: metric.data.data_points for metric in metrics}


def test_many_threads_sum_exactly(provided):  # noqa: C901  # the parts of one race
    """While others collect, with delta temporality, every amount is collected once."""
    from opentelemetry.sdk.metrics import Counter, Histogram

    delta = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)
    meter, reader = provided(preferred_temporality=delta)
    counter, histogram = meter.create_counter("counter"), meter.create_histogram("histogram")
    bound = otel_fastpath.bind(counter, {"by": "bound"})
    start, done = threading.Barrier(THREADS + 1), threading.Event()

    def record():
        start.wait()
        for number in range(RECORDS):
            counter.add(1, {"by": "call", "odd": number % 2 == 1})
            histogram.record(number % 7, {"by": "call"})
            bound.add(1)

    totals = {"counter": 0, "histogram": 0, "count": 0, "buckets": 0}

    def collect():
        for name, found in points(reader).items():
            for point in found:
                totals[name] += point.sum if name == "histogram" else point.value
                if name == "histogram":
                    totals["count"] += point.count
                    totals["buckets"] += sum(point.bucket_counts)

    def keep_collecting():
        start.wait()
        while not done.is_set():
            collect()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        collector = threading.Thread(target=keep_collecting)
        recorders = [threading.Thread(target=record) for _ in range(THREADS - 1)]
        for thread in (collector, *recorders):
            thread.start()
        record()
        for thread in recorders:
            thread.join()
        done.set()
        collector.join()
    finally:
        sys.setswitchinterval(before)
    collect()

    assert totals == {
        "counter": 2 * THREADS * RECORDS,
        "histogram": THREADS * sum(number % 7 for number in range(RECORDS)),
        "count": THREADS * RECORDS,
        "buckets": THREADS * RECORDS,
    }


ORDER = """
import sys
import opentelemetry.sdk.metrics
from otel_fastpath import FastpathInstrumentor
assert "opentelemetry.sdk.trace" not in sys.modules
FastpathInstrumentor().instrument(core=sys.argv[1], exceptions="off")
import opentelemetry.sdk.trace
rows = {row.name: row.state.value for row in FastpathInstrumentor().status()}
print(rows["metrics.counter"], rows["tracer.start_span"], rows["tracer.start_as_current_span"])
"""


def test_an_application_that_imports_metrics_first(core):
    """Tracers are patched all the same."""
    ran = subprocess.run([sys.executable, "-c", ORDER, core], capture_output=True, text=True, check=False)

    assert (ran.stdout.split(), ran.stderr) == (["applied"] * 3, "")


def test_attributes_that_a_view_takes_away_are_not_kept(provided):
    """A set that never comes again leaves nothing once there are too many, and is counted all the same."""
    meter, reader = provided(views=[View(instrument_name="*", attribute_keys={"route"})])
    counter = meter.create_counter("counter")

    for number in range(5_000):
        counter.add(1, {"route": "/a", "request": number})

    (point,) = points(reader)["counter"]
    assert (dict(point.attributes), point.value) == ({"route": "/a"}, 5_000)
    assert len(counter._otel_fastpath_recorder.series) <= 1_100


def test_nothing_stays_on_instruments(instrumentor, core):
    """After `uninstrument()` they are stock's again, bound ones too, and lose nothing."""
    instrumentor.instrument(core=core)
    reader = InMemoryMetricReader()
    counter = MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("off").create_counter("counter")
    bound = otel_fastpath.bind(counter, {"a": 1})
    for _ in range(3):
        bound.add(1)
        counter.add(1, {"a": 1})
    assert "_otel_fastpath_recorder" in vars(counter)

    instrumentor.uninstrument()
    bound.add(1)
    counter.add(1, {"a": 1})

    assert "_otel_fastpath_recorder" not in vars(counter)
    assert [point.value for point in points(reader)["counter"]] == [8]


def test_a_copy_of_an_instrument(provided):
    """It has a recorder of its own, as stock finds views for it: the reader has a stream of each."""
    meter, reader = provided()
    counter = meter.create_counter("counter")
    for _ in range(3):
        counter.add(1, {"a": 1})

    other = copy.copy(counter)
    for _ in range(3):
        other.add(1, {"a": 1})
        counter.add(1, {"a": 1})

    assert other._otel_fastpath_recorder is not counter._otel_fastpath_recorder
    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    assert sorted(metric.data.data_points[0].value for metric in scope.metrics) == [3, 6]


def test_a_bound_instrument_of_the_other_core(instrumented, core):  # noqa: ARG001  # the fast path is on
    """Goes the instrument's own way, and loses nothing."""
    pytest.importorskip("otel_fastpath.metrics.instruments.bound_c")
    reader = InMemoryMetricReader()
    counter = (
        MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("other").create_counter("counter")
    )
    compiled.choose({"py": "c", "c": "py"}[core])
    bound = otel_fastpath.bind(counter, {"a": 1})
    compiled.choose(core)
    for _ in range(3):
        bound.add(1)

    assert [point.value for point in points(reader)["counter"]] == [3]
    assert bound._series is None


def test_a_bound_proxy_becomes_real(instrumented, core):  # noqa: ARG001  # the fast path is on
    """What was bound before there was a provider records once there is one."""
    from opentelemetry.metrics import _internal

    meter = _internal._ProxyMeter("proxy", "1", "")
    bound = otel_fastpath.bind(meter.create_histogram("proxied"), {"a": 1})
    bound.record(1)
    reader = InMemoryMetricReader()
    meter.on_set_meter_provider(MeterProvider(metric_readers=[reader], shutdown_on_exit=False))
    for _ in range(3):
        bound.record(2)

    (point,) = points(reader)["proxied"]
    assert (point.count, point.sum) == (3, 6)
    assert bound._series is not None


class _Reservoir:
    """A reservoir of the application's, which stops accepting measurements."""

    is_closed = False

    def __init__(self, **_settings):
        pass

    def offer(self, *_measurement):
        if self.is_closed:
            raise LookupError("closed")

    def collect(self, _point_attributes):
        return []


def test_an_error_of_a_reservoir_is_logged_once(provided, monkeypatch, no_faults, logged):
    """The measurements count, and it is no fault of this package."""
    faults.forget()
    view = View(instrument_name="*", exemplar_reservoir_factory=lambda _kind: _Reservoir)
    meter, reader = provided(views=[view], exemplar_filter=AlwaysOnExemplarFilter())
    counter = meter.create_counter("counter")
    # The first measurement makes the series, and the second is learnt from.
    counter.add(1, {"known": True})
    counter.add(1, {"known": True})
    bound = otel_fastpath.bind(counter, {"known": True})
    monkeypatch.setattr(_Reservoir, "is_closed", True)

    counter.add(1, {"known": True})
    counter.add(1, {"known": True})
    bound.add(1)

    assert [point.value for point in points(reader)["counter"]] == [5]
    assert no_faults.counts() == {}
    (line,) = logged()
    assert line.startswith("Code that otel-fastpath called in metrics raised an exception.")


def test_what_is_seen_once_is_not_learnt(provided):
    """It is recorded all the same, as what is seen again."""
    meter, reader = provided()
    counter = meter.create_counter("counter")

    for number in range(1_000):
        counter.add(1, {"request": number})
    assert len(counter._otel_fastpath_recorder.series) < 50
    for number in range(1_000):
        counter.add(1, {"request": number})

    found = {point.attributes["request"]: point.value for point in points(reader)["counter"]}
    assert found == dict.fromkeys(range(1_000), 2)


def test_an_amount_that_is_no_number_leaves_the_instrument_to_stock(instrumented):  # noqa: ARG001  # the fast path is in place
    """What stock raises when it adds other amounts reaches the application, and is no fault of this package."""
    counter = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False).get_meter("odd").create_counter("odd")
    for amount in (1, 1, Decimal("1.5")):
        counter.add(amount)
    with pytest.raises(TypeError, match="unsupported operand"):
        counter.add(0.5)


def test_measurements_of_the_first_sight_are_stocks(instrumentor, core):
    """Amounts, attributes of every kind and exemplars, with and without a view that drops some."""

    def run():
        reader = InMemoryMetricReader()
        views = [View(instrument_name="viewed", attribute_keys={"route"})]
        meter = MeterProvider(
            [reader], shutdown_on_exit=False, views=views, exemplar_filter=AlwaysOnExemplarFilter()
        ).get_meter("sights")
        for name in ("plain", "viewed"):
            histogram = meter.create_histogram(name)
            for number in range(30):
                # Before 1.45, stock raises for attributes that are not hashable.
                listed = (number,) if older("opentelemetry-sdk", "1.45") else [number]
                for given in (None, {}, {"route": number % 3, "user": number}, {"user": listed}, {1: number}):
                    histogram.record(number % 7, given)
        return {
            name: [
                (
                    dict(point.attributes),
                    point.count,
                    point.sum,
                    point.bucket_counts,
                    [(each.value, each.filtered_attributes) for each in point.exemplars],
                )
                for point in found
            ]
            for name, found in points(reader).items()
        }

    stock = run()
    instrumentor.instrument(core=core)

    assert run() == stock
