"""Users of one tracer and one meter in turn, while functions of the SDK name whoever calls."""

from __future__ import annotations

import dataclasses
import inspect
from contextlib import ExitStack, suppress
from unittest import mock

import pytest
import users
from opentelemetry import attributes as attributes_api
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.metrics import MeterProvider, _internal
from opentelemetry.sdk.metrics._internal import (
    _view_instrument_match,
    aggregation,
    instrument,
    measurement_consumer,
    metric_reader_storage,
)
from opentelemetry.sdk.metrics._internal.measurement import Measurement
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

ORDER = ("ann", "bob", "ann")


def _places(*modules):
    """The functions of these modules and the methods of their classes."""
    owners = [
        owner
        for module in modules
        for owner in (module, *vars(module).values())
        if owner is module or (inspect.isclass(owner) and owner.__module__ == module.__name__)
    ]
    return [
        (owner, name)
        for owner in owners
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and value.__module__ in {owner.__name__, owner.__dict__.get("__module__")}
        if not name.startswith("__") and not getattr(value, "__isabstractmethod__", False)
    ]


PLACES = {
    "spans": _places(sdk, sampling, attributes_api),
    "metrics": _places(
        *(_internal, instrument, measurement_consumer, metric_reader_storage, _view_instrument_match, aggregation)
    ),
}


def _named(value, turn):
    """Attributes, or a measurement with attributes, that also name the user."""
    if isinstance(value, dict):
        return {**value, users.KEY: turn.user}
    if isinstance(value, Measurement):
        return dataclasses.replace(value, attributes={**(value.attributes or {}), users.KEY: turn.user})
    return value


def _replaced(turn, place):
    """A function that names the user in the attributes that it is given, and in what it returns."""
    found = getattr(*place)

    def marked(*args, **kwargs):
        result = found(*(_named(each, turn) for each in args), **kwargs)
        return f"{result}-{turn.user}" if isinstance(result, str) else _named(result, turn)

    return mock.patch.object(*place, marked)


def _spans():
    """What makes a user's spans, and what shows all of them."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("users")

    def call(user):
        with tracer.start_as_current_span("outer", attributes={"user": user}) as outer:
            outer.set_attribute("one", 1)
            outer.set_attributes({"other": user})
            outer.add_event("event", {"user": user})
            outer.update_name(f"of {user}")
            links = [trace.ConnectionPlan(outer.get_span_context(), {"user": user})]
            with suppress(KeyError), tracer.start_as_current_span("inner", links=links) as inner:
                inner.set_status(Status(StatusCode.OK))
                raise KeyError(user)

    def shown():
        return [
            (
                span.name,
                sorted(span.attributes.items()),
                [(each.name, each.attributes.get("user"), each.attributes.get(users.KEY)) for each in span.events],
                [sorted(each.attributes.items()) for each in span.links],
                (span.status.status_code, span.status.description),
            )
            for span in exporter.get_finished_spans()
        ]

    return call, shown


def _metrics():
    """What measures for a user, and what shows all measurements."""
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("users")
    counter, histogram, gauge = meter.create_counter("c"), meter.create_histogram("h"), meter.create_gauge("g")

    def call(user):
        for attributes in ({}, {"user": user}):
            counter.add(1, attributes)
            histogram.record(2, attributes)
            gauge.set(3, attributes)

    def shown():
        data = reader.get_metrics_data()
        return sorted(
            (metric.name, sorted(point.attributes.items()), getattr(point, "value", getattr(point, "count", 0)))
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        )

    return call, shown


def _outcome(call, *args):
    """What came of a call: a function that returns too much may break stock's, too."""
    try:
        return call(*args)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__


def _run(signal, place, when):
    """The outcomes and the telemetry of users in turn."""
    turn, outcomes = users.Turn(), []
    with ExitStack() as stack:
        if when == "before":
            stack.enter_context(_replaced(turn, place))
        call, shown = signal()
        for moment in ("first", "called"):
            for turn.user in ORDER:
                outcomes.append(_outcome(call, turn.user))
            if moment == "first" and when == "called":
                stack.enter_context(_replaced(turn, place))
        return outcomes, _outcome(shown)


@pytest.mark.parametrize("when", ["before", "called"])
@pytest.mark.parametrize("signal", [_spans, _metrics])
def test_two_users(instrumentor, core, signal, when):
    """Each function alone, replaced before the provider is made or after its first calls: it is followed."""
    places = PLACES[signal.__name__[1:]]
    expected = {place: _run(signal, place, when) for place in places}
    instrumentor.instrument(core=core, disabled="exceptions")
    unlike = {}
    for place in places:
        found = _run(signal, place, when)
        if found != expected[place]:
            unlike[f"{place[0].__name__}.{place[1]}"] = found, expected[place]
    assert unlike == {}
