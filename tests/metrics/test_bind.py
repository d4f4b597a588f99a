"""`otel_fastpath.bind`: an instrument with attributes known up front, of any meter."""

from __future__ import annotations

import pytest
from opentelemetry.metrics import NoOpMeter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import otel_fastpath


@pytest.fixture
def reader():
    """What reads the provider's metrics."""
    return InMemoryMetricReader()


@pytest.fixture
def meter(reader):
    """A meter of a stock provider with one reader."""
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    yield provider.get_meter("bind")
    provider.shutdown()


def points(reader):
    """The points of the one metric there is."""
    data = reader.get_metrics_data()
    (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
    return [(dict(point.attributes), getattr(point, "value", None)) for point in metric.data.data_points]


def test_each_instrument_keeps_its_verb(meter):
    """`add`, `record` or `set`, and no other."""
    bound = {
        "add": [meter.create_counter("a"), meter.create_up_down_counter("b")],
        "record": [meter.create_histogram("c")],
        "set": [meter.create_gauge("d")],
    }

    for verb, instruments in bound.items():
        for instrument in instruments:
            handle = otel_fastpath.bind(instrument, {"key": 1})
            assert [name for name in ("add", "record", "set") if hasattr(handle, name)] == [verb]


def test_what_is_recorded_has_the_attributes(reader, meter):
    """As if they had been given with each call."""
    counter = meter.create_counter("requests")
    bound = otel_fastpath.bind(counter, {"route": "/a"})

    bound.add(2)
    bound.add(3, context=None)
    counter.add(4, {"route": "/a"})

    assert points(reader) == [({"route": "/a"}, 9)]


def test_attributes_are_copied_when_bound():
    """What the caller changes afterwards, lists and dicts in it too, is not seen."""

    class Kept:
        def set(self, amount, attributes, context):
            self.got = (amount, attributes, context)

    instrument = Kept()
    attributes = {"route": "/a", "tags": ["x", ["y"]], "map": {"k": [1]}}
    bound = otel_fastpath.bind(instrument, attributes)

    attributes["tags"][1].append("z")
    attributes["map"]["k"].append(2)
    attributes["route"] = "/b"
    bound.set(1.5)

    assert instrument.got == (1.5, {"route": "/a", "tags": ("x", ("y",)), "map": {"k": (1,)}}, None)


def test_no_attributes(reader, meter):
    """None, as in the instruments' own methods."""
    otel_fastpath.bind(meter.create_up_down_counter("open")).add(-1)

    assert points(reader) == [({}, -1)]


@pytest.mark.parametrize("attributes", ["route", 5, [("route", "/a")]])
@pytest.mark.usefixtures("instrumented")
def test_attributes_that_are_no_mapping_are_left_to_stock(reader, meter, no_faults, attributes):
    """Each call gives or raises what the instrument's own gives; binding itself raises nothing."""

    def outcome(call):
        try:
            return call()
        except Exception as error:
            return type(error), str(error)

    bound = otel_fastpath.bind(meter.create_counter("bound"), attributes)
    counter = meter.create_counter("own")
    assert [outcome(lambda: bound.add(2)) for _ in range(3)] == [outcome(lambda: counter.add(2, attributes))] * 3
    for _ in range(2):
        outcome(lambda: counter.add(2, attributes))
    found = [
        (metric.name, [(dict(point.attributes), point.value) for point in metric.data.data_points])
        for of_resource in getattr(reader.get_metrics_data(), "resource_metrics", ())
        for metric in of_resource.scope_metrics[0].metrics
    ]
    assert [points for name, points in found if name == "bound"] == [points for name, points in found if name == "own"]
    assert no_faults.counts() == {}


def test_an_observable_instrument_cannot_be_bound(meter):
    """It has nothing to call."""
    with pytest.raises(TypeError, match="not a synchronous instrument"):
        otel_fastpath.bind(meter.create_observable_gauge("observed"))


def test_without_an_sdk():
    """A no-op instrument does nothing."""
    otel_fastpath.bind(NoOpMeter("none").create_histogram("nothing"), {"a": 1}).record(1)
