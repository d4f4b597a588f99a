"""What a database says of itself: where its connection plans are, and that one library's set-up is not another's."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from otel_fastpath.db import call_wrappers
from otel_fastpath.db.database import Database
from otel_fastpath.db.server_attributes import Server, System
from otel_fastpath.wrapping.library import Setup

# Where connection plans are -> a connection that keeps one there.
PLACES = {
    "otel_fastpath_connection_plan": SimpleNamespace,
    "protocol.connection_plan": lambda: SimpleNamespace(protocol=SimpleNamespace()),
}


async def fetch(_connection, query, *_parameters):
    """A method of a library."""
    return [query]


def run(coroutine):
    """The result of a coroutine that waits for nothing."""
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    return stopped.value.value


@pytest.fixture
def make(instrumentor, core):
    """`make(name, connection_plan, sampler)`: a database that is set up, and the exporter of its spans."""
    instrumentor.instrument(core=core, disabled="exceptions")

    def make(name, connection_plan, sampler=None):
        exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        database = Database(name, lambda _connection: Server(System(name)), connection_plan=connection_plan)
        database.configure(Setup({"tracer_provider": provider}, "no-metrics"))
        return database, exporter

    return make


def systems(exporter):
    """What the spans say that they are of."""
    return [span.attributes["db.system.name"] for span in exporter.get_finished_spans()]


def recorded(reader):
    """Metric -> how many values it was given."""
    data = reader.get_metrics_data()
    metrics = [each for resource in data.resource_metrics for scope in resource.scope_metrics for each in scope.metrics]
    return {metric.name: sum(point.count for point in metric.data.data_points) for metric in metrics}


@pytest.mark.parametrize("place", PLACES)
def test_a_connection_keeps_its_plan(make, no_faults, place):
    """Where the library says: one for all its queries, and another for another set-up."""
    database, exporter = make("subject", place)
    connection = PLACES[place]()
    assert database.kept_connection_plan(connection) is None
    method = call_wrappers.around_query(database, "ALL_ROWS", fetch)

    assert run(method(connection, "SELECT 1")) == ["SELECT 1"]
    connection_plan = database.kept_connection_plan(connection)
    assert connection_plan.active is database.active
    assert run(method(connection, query="SELECT 2")) == ["SELECT 2"]
    assert database.connection_plan(connection) is connection_plan
    database.configure(Setup())
    run(method(connection, "SELECT 3"))

    assert database.kept_connection_plan(connection) is not connection_plan
    assert systems(exporter) == ["subject"] * 2
    assert no_faults.counts() == {}


def test_two_libraries_take_the_same_way(make, no_faults):
    """Each with its set-up and its connection plans; one that is stopped leaves the other as it is."""
    (first, firsts), (second, seconds) = (
        make("first", "otel_fastpath_connection_plan"),
        make("second", "protocol.connection_plan"),
    )
    methods = {
        name: call_wrappers.around_query(database, "ALL_ROWS", fetch)
        for name, database in (("first", first), ("second", second))
    }
    connections = {"first": PLACES["otel_fastpath_connection_plan"](), "second": PLACES["protocol.connection_plan"]()}

    for name in ("first", "second", "first"):
        run(methods[name](connections[name], "SELECT 1"))
    first.stop()
    for name, method in methods.items():
        assert run(method(connections[name], "SELECT 1")) == ["SELECT 1"]

    assert systems(firsts) == ["first"] * 2
    assert systems(seconds) == ["second"] * 2
    assert no_faults.counts() == {}


def test_what_the_sampler_drops_is_dropped_until_it_does_not(make, no_faults):
    """One query after another is dropped before it is made; the first that is to be recorded is, below any parent."""
    database, exporter = make("subject", "otel_fastpath_connection_plan", ParentBased(ALWAYS_OFF))
    method = call_wrappers.around_query(database, "ALL_ROWS", fetch)
    connection = SimpleNamespace()
    sampled, dropped = (
        set_span_in_context(NonRecordingSpan(SpanContext(7, 7, is_remote=False, trace_flags=TraceFlags(flags))))
        for flags in (1, 0)
    )

    for parent, number in ((Context(), 0), (sampled, 1), (dropped, 0), (Context(), 0), (sampled, 1)):
        for _ in range(3):
            token = attach(parent)
            assert run(method(connection, "SELECT 1")) == ["SELECT 1"]
            detach(token)
        assert len(systems(exporter)) == 3 * number
        exporter.clear()
    assert no_faults.counts() == {}


def test_without_a_provider_nothing_is_made_until_there_is_one(instrumentor, core, no_faults, monkeypatch):
    """Also if the first queries found none."""
    instrumentor.instrument(core=core, disabled="exceptions")
    database = Database("subject", lambda _connection: Server(System("subject")))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    database.configure(Setup(options="no-metrics"))
    method = call_wrappers.around_query(database, "ALL_ROWS", fetch)
    connection = SimpleNamespace()
    for _ in range(3):
        assert run(method(connection, "SELECT 1")) == ["SELECT 1"]

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    run(method(connection, "SELECT 1"))

    assert systems(exporter) == ["subject"]
    assert no_faults.counts() == {}


def test_a_closed_connection_is_looked_at_all_the_same(make, no_faults):
    """It has given up what would keep its connection plan."""
    database, exporter = make("subject", "protocol.connection_plan")
    connection = SimpleNamespace(protocol=None)

    run(call_wrappers.around_query(database, "ALL_ROWS", fetch)(connection, "SELECT 1"))

    assert systems(exporter) == ["subject"]
    assert database.kept_connection_plan(connection) is None
    assert no_faults.counts() == {}


def test_rows_that_are_not_there_are_not_counted(make, no_faults):
    """A host's test may replace the method by one that returns None."""
    reader = InMemoryMetricReader()
    database, _ = make("subject", "otel_fastpath_connection_plan")
    providers = {"meter_provider": MeterProvider([reader], shutdown_on_exit=False)}
    database.configure(Setup(providers))
    opener = lambda args, _kwargs: call_wrappers.query(database.connection_plan(args[0]), args[1])  # noqa: E731  # as wrappers have them

    async def fetch_nothing(_connection, _query):
        return None

    for method in (
        call_wrappers.around_query(database, "ALL_ROWS", fetch_nothing),
        call_wrappers.around(database, opener, call_wrappers.all_rows, fetch_nothing),
    ):
        assert run(method(SimpleNamespace(), "SELECT 1")) is None

    assert recorded(reader) == {"db.client.operation.duration": 2}
    assert no_faults.counts() == {}


def test_without_a_set_up_nothing_is_looked_at(instrumentor, core, no_faults):
    """Also by the way of methods that are no plain query; to ask for a connection plan is a fault."""
    instrumentor.instrument(core=core, disabled="exceptions")
    database = Database("subject", lambda _connection: Server(System("subject")))
    connection = SimpleNamespace()
    opener = lambda args, _kwargs: call_wrappers.query(database.connection_plan(args[0]), args[1])  # noqa: E731  # as wrappers have them

    assert run(call_wrappers.around_query(database, "ALL_ROWS", fetch)(connection, "SELECT 1")) == ["SELECT 1"]
    assert run(call_wrappers.around(database, opener, None, fetch)(connection, "SELECT 1")) == ["SELECT 1"]
    assert call_wrappers.around_sync(database, opener, None, str)(7) == "7"
    assert vars(connection) == {}
    assert no_faults.counts() == {}
    with pytest.raises(RuntimeError, match="the subject wrapper is not set up"):
        database.connection_plan(connection)


def test_a_method_without_arguments_fails_as_the_librarys(make, no_faults):
    """A fault of ours to begin it, and no exception of ours."""
    database, _ = make("subject", "protocol.connection_plan")
    opener = lambda args, _kwargs: call_wrappers.query(database.connection_plan(args[0]), args[1])  # noqa: E731  # as wrappers have them

    with pytest.raises(TypeError, match="expected at least"):
        call_wrappers.around_sync(database, opener, None, getattr)()
    assert no_faults.counts()
