"""The wrapper that contributors copy: what it emits, and that the outcome is sqlite3's whatever telemetry raises."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from sabotage import ABSORBED, FOREIGN, RAISED, as_ours, broken, broken_logging, plain, raising_once  # noqa: E402

from examples.reference_wrapper import sqlite3_wrapper  # noqa: E402
from otel_fastpath import own_metrics  # noqa: E402
from otel_fastpath.db import conventions, database, query_plans  # noqa: E402
from otel_fastpath.db.queries import parameters as db_parameters  # noqa: E402
from otel_fastpath.settings import Config  # noqa: E402
from otel_fastpath.wrapping import call as calls  # noqa: E402
from otel_fastpath.wrapping.library import Wrapper  # noqa: E402

# The place of a function that each statement or some of them come through.
OWN = {
    "connection plan": (database.Database, "connection_plan"),
    "failure": (conventions, "failure"),
    "read": (conventions, "read"),
    "plan": (query_plans.QueryPlans, "plan"),
    "tell": (db_parameters, "put_parameters"),
    "begin": (db_parameters, "has_any"),
    "metric": (calls.CallDurations, "record_failed"),
}


@pytest.fixture
def wrap(instrumentor, core):
    """Put the wrapper in place on one of the cores; gives it."""
    made = Wrapper(sqlite3_wrapper.LIBRARY)

    def install(options="", **providers):
        # The package has a wrapper of its own for sqlite3.
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", sqlite3="off", **providers)
        config = Config(telemetry="full", libraries={"sqlite3_options": options})
        made.install(config, config.off, providers)
        return made

    yield install
    made.uninstall()


@pytest.fixture
def seen():
    """The exporter, the reader, and providers that end in them."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    return exporter, reader, {"tracer_provider": tracers, "meter_provider": meters}


def used():
    """What comes of each way to execute a statement, and the context in the end."""
    found = []
    connection = sqlite3.connect(":memory:")
    try:
        cursor = connection.cursor()
        for step in (
            lambda: connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)").fetchall(),
            lambda: cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, "b")]).rowcount,
            lambda: cursor.execute("SELECT v FROM t WHERE id = :id", {"id": 2}).fetchall(),
            lambda: cursor.execute("SELECT v FROM t WHERE v = 'a'") is cursor,
            cursor.fetchone,
            lambda: connection.executescript("DELETE FROM t; SELECT 1").fetchall(),
            lambda: connection.execute("SELECT * FROM nothing"),
            lambda: cursor.execute("SELECT ?", ()),
            lambda: cursor.executemany("SELECT 1", 7),
            lambda: connection.cursor().execute(7),
        ):
            try:
                found.append(step())
            except (sqlite3.Error, TypeError) as error:  # noqa: PERF203  # each of them
                found.append((type(error), str(error)))
        return found
    finally:
        connection.close()


def test_each_statement_is_a_span(wrap, seen, no_faults):
    """By the stable conventions: a literal left out, a parameter told where it was asked for, an error by its name."""
    exporter, reader, providers = seen
    wrap("parameters", **providers)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    connection.execute("SELECT id FROM t WHERE id = :id", {"id": 2})
    connection.cursor().execute("SELECT id FROM t WHERE id = 1")
    with pytest.raises(sqlite3.OperationalError) as raised:
        connection.execute("SELECT * FROM nothing")
    connection.close()

    always = {"db.system.name": "sqlite", "db.namespace": ":memory:"}
    error = getattr(raised.value, "sqlite_errorname", None)
    # It has a name since Python 3.11.
    named = (
        {"db.response.status_code": error, "error.type": error} if error else {"error.type": "sqlite3.OperationalError"}
    )
    insert = "BATCH INSERT t"
    assert [(span.name, dict(span.attributes)) for span in exporter.get_finished_spans()] == [
        (name, {**always, "db.query.text": text, "db.query.summary": name, **more})
        for name, text, more in (
            ("CREATE TABLE t", "CREATE TABLE t (id INTEGER)", {}),
            (insert, "INSERT INTO t VALUES (?)", {"db.operation.batch.size": 2}),
            ("SELECT t", "SELECT id FROM t WHERE id = :id", {"db.query.parameter.id": "2"}),
            ("SELECT t", "SELECT id FROM t WHERE id = ?", {}),
            ("SELECT nothing", "SELECT * FROM nothing", named),
        )
    ]
    found = reader.get_metrics_data().resource_metrics[0].scope_metrics
    (scope,) = [each for each in found if each.scope.name != own_metrics.PATCHES]
    assert scope.scope.name == "otel_fastpath.sqlite3"
    points = {metric.name: metric.data.data_points for metric in scope.metrics}
    assert {point.attributes["db.query.summary"]: point.count for point in points["db.client.operation.duration"]} == {
        "CREATE TABLE t": 1,
        insert: 1,
        "SELECT t": 2,
        "SELECT nothing": 1,
    }
    assert no_faults.counts() == {}


def test_the_outcome_is_the_librarys(wrap, seen, no_faults):
    """With the wrapper as without, of calls that succeed, that fail and that are not valid."""
    bare = used()
    wrap("parameters", **seen[2])

    assert used() == bare
    assert no_faults.counts() == {}
    connection = sqlite3.connect(":memory:")
    with pytest.raises(TypeError, match="execute expected at least 1 argument, got 0"):
        connection.cursor().execute()
    connection.close()


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(wrap, saboteur):
    """Whichever part of the set-up raises, and our log besides."""
    bare, before = used(), context.get_current()
    wrap("parameters", **FOREIGN[saboteur]())

    with broken_logging():
        assert used() == bare
    assert context.get_current() is before


@pytest.mark.parametrize("saboteur", RAISED)
def test_an_error_of_the_set_up_is_raised(wrap, saboteur):
    """The error of a processor, sampler or id generator is the application's to see."""
    wrap("parameters", **FOREIGN[saboteur]())
    connection = sqlite3.connect(":memory:")

    with raising_once():
        connection.cursor().execute("SELECT 1")
    connection.close()


@pytest.mark.parametrize("place", OWN)
def test_a_fault_of_ours_is_counted_only(wrap, no_faults, monkeypatch, place):
    """In whichever function of the wrapper, or of what it stands on."""
    bare = used()
    wrap("parameters", **plain())
    monkeypatch.setattr(*OWN[place], as_ours(broken))

    with broken_logging():
        assert used() == bare
    assert trace.get_current_span() is trace.INVALID_SPAN
    # What comes through the example is counted as an error of other code.
    assert no_faults.counts() or place in {"connection plan", "read", "plan"}


def test_taken_off_and_put_on_again(wrap, seen, no_faults):
    """Off, the very same functions are there, and a connection that is open is not looked at; on again, it is."""
    exporter, _, providers = seen
    originals = (sqlite3.connect, sqlite3.dbapi2.connect)
    wrapper = wrap(**providers)
    config = Config(telemetry="full")
    with_default, own = sqlite3.connect(":memory:"), sqlite3.connect(":memory:", factory=sqlite3.Connection)
    assert isinstance(with_default, sqlite3.Connection)
    assert type(own) is sqlite3.Connection
    with_default.execute("SELECT 1")
    own.execute("SELECT 1")
    assert len(exporter.get_finished_spans()) == 1

    wrapper.uninstall()
    assert (sqlite3.connect, sqlite3.dbapi2.connect) == originals
    assert with_default.execute("SELECT 2").fetchall() == [(2,)]
    assert len(exporter.get_finished_spans()) == 1

    wrapper.install(config, config.off, providers)
    with_default.execute("SELECT 3")
    assert len(exporter.get_finished_spans()) == 2
    assert no_faults.counts() == {}
    with_default.close()
    own.close()


def test_it_is_small():
    """Who copies it sees it at once."""
    assert len(Path(sqlite3_wrapper.__file__).read_text(encoding="utf-8").splitlines()) <= 60
