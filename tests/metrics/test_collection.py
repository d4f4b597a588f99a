"""What collecting promises beside equal metrics: nobody waits for the whole of it; what is not stock's is asked."""

from __future__ import annotations

import threading
from decimal import Decimal

import pytest
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter
from opentelemetry.sdk.metrics._internal import aggregation as aggregations
from opentelemetry.sdk.metrics._internal.exemplar import AlignedHistogramBucketExemplarReservoir
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View

from otel_fastpath.metrics import collecting as core_collection
from otel_fastpath.metrics import set_up

SERIES = 100


class Reservoir(AlignedHistogramBucketExemplarReservoir):
    """A user's: says when it is collected."""

    called = None

    def collect(self, point_attributes):
        """In the middle of a collection."""
        Reservoir.called(point_attributes)
        return super().collect(point_attributes)


@pytest.fixture
def when_collected(monkeypatch):
    """Sets what a view's reservoir does when it is collected."""

    def use(function):
        monkeypatch.setattr(Reservoir, "called", staticmethod(function))

    return use


VIEW = View(instrument_name="watched", exemplar_reservoir_factory=lambda _kind: Reservoir)


@pytest.fixture
def provided(instrumented, no_faults):
    """Makes a meter and its reader; nothing is left to stock because of a fault."""
    assert "metrics.collect" in {row.name for row in instrumented.status() if row.state.value == "applied"}
    made = []

    def make(**settings):
        reader = InMemoryMetricReader(**settings)
        made.append(MeterProvider(metric_readers=[reader], shutdown_on_exit=False, views=[VIEW]))
        return made[-1].get_meter("collection"), reader

    yield make
    for provider in made:
        provider.shutdown()
    assert no_faults.counts() == {}


def values(reader):
    """The values of each metric by its name, and the counts of histograms."""
    data = reader.get_metrics_data()
    found = {}
    for of_scope in data.resource_metrics[0].scope_metrics if data else ():
        for metric in of_scope.metrics:
            found[metric.name] = [getattr(point, "value", None) or point.count for point in metric.data.data_points]
    return found


def measures_meanwhile(measure):
    """Whether another thread can measure while this one is where it is."""
    thread = threading.Thread(target=measure, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


@pytest.mark.parametrize("temporality", [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])
def test_who_measures_does_not_wait_for_a_collection(provided, when_collected, temporality):
    """In the middle of one, others measure what is being collected, a new series and a new instrument."""
    from opentelemetry.sdk.metrics import Counter, Histogram

    meter, reader = provided(preferred_temporality=dict.fromkeys((Counter, Histogram), temporality))
    watched = meter.create_histogram("watched")
    later = meter.create_counter("later")
    watched.record(1, {"known": 1})
    done = []

    def measure():
        for known in (1, 2):
            watched.record(1, {"known": known})
        later.add(1)

    when_collected(lambda _attributes: done or done.append(measures_meanwhile(measure)))
    first = values(reader)
    when_collected(lambda _attributes: None)
    second = values(reader)

    assert done == [True]
    assert first == {"watched": [1]}
    is_delta = temporality is AggregationTemporality.DELTA
    assert second == {"watched": [1 if is_delta else 2, 1], "later": [1]}


def test_others_get_turns(provided, monkeypatch):
    """Every so many points, and after each stream, with nothing locked."""
    meter, reader = provided()
    counter, histogram = meter.create_counter("counter"), meter.create_histogram("histogram")
    measured = []

    def measure():
        counter.add(1, {"turn": len(measured)})
        histogram.record(1, {"turn": len(measured)})
        meter.create_counter(f"new{len(measured)}").add(1)

    class Pace:
        def turn(self):
            measured.append(measures_meanwhile(measure))

    for number in range(SERIES):
        counter.add(1, {"number": number})
        histogram.record(1, {"number": number})
    monkeypatch.setattr(core_collection, "Pace", Pace)
    values(reader)

    assert measured == [True] * len(measured)
    assert len(measured) >= 2 * (SERIES // 16)


def test_what_a_reservoir_raises_is_for_the_caller(provided, when_collected):
    """As stock does, and the next collection is whole."""
    meter, reader = provided()
    watched = meter.create_histogram("watched")
    watched.record(1, {"a": 1})

    def fail(_attributes):
        raise LookupError

    when_collected(fail)
    with pytest.raises(LookupError):
        reader.get_metrics_data()
    when_collected(lambda _attributes: None)

    assert values(reader) == {"watched": [1]}


def test_amounts_that_cannot_be_added_are_refused_as_stock_does(provided):
    """A Decimal and a float: stock's error reaches the caller, and is no fault of ours."""
    amounts = iter([Decimal("1.5"), 2.5, 3.0])
    meter, reader = provided(preferred_temporality={ObservableCounter: AggregationTemporality.DELTA})
    meter.create_observable_counter("observed", [lambda _: [Observation(next(amounts))]])
    assert values(reader) == {"observed": [Decimal("1.5")]}

    with pytest.raises(TypeError, match="Decimal"):
        reader.get_metrics_data()


def test_a_histograms_amounts_that_cannot_be_added_are_refused_as_stock_does(provided):
    """The same for its sum, from one collection to the next."""
    meter, reader = provided()
    histogram = meter.create_histogram("histogram")
    histogram.record(Decimal("1.5"))
    assert values(reader) == {"histogram": [1]}
    histogram.record(2.5)

    with pytest.raises(TypeError, match="Decimal"):
        reader.get_metrics_data()


def test_a_method_that_somebody_replaced_is_called(provided, monkeypatch):
    """Stock collects then."""
    meter, reader = provided()
    meter.create_counter("counter").add(1)
    asked = []
    original = aggregations._SumAggregation.collect

    def collect(self, *args):
        asked.append(self)
        return original(self, *args)

    monkeypatch.setattr(aggregations._SumAggregation, "collect", collect)

    assert values(reader) == {"counter": [1]}
    assert len(asked) == 1


def test_a_fault_of_ours_leaves_it_to_stock(instrumented, core, no_faults, monkeypatch, logged):  # noqa: ARG001  # instrumented
    """Collected all the same, said once, counted."""
    made = {"__name__": "otel_fastpath.made_up"}
    exec("def fail(*args): raise KeyError('ours')", made)  # noqa: S102  # a line that is one of this package's
    reader = InMemoryMetricReader()
    meter = MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("collection")
    meter.create_counter("counter").add(1)
    monkeypatch.setattr(set_up.ready(core).collector, "_points_of", made["fail"])

    assert [values(reader), values(reader)] == [{"counter": [1]}] * 2
    assert no_faults.counts() == {"metrics collection": 2}
    assert len(logged()) == 1
