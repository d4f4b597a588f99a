"""Whatever telemetry raises around a call of psycopg2: the outcome is psycopg2's, and the context as before."""

from __future__ import annotations

import io
import logging

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import psycopg2.sql
import pytest
from combinations import crossed
from opentelemetry import context
from sabotage import ABSORBED, FOREIGN, RAISED, Odd, Sabotage, as_ours, broken, broken_logging, plain, raising_once

from otel_fastpath.db import calls as db_calls
from otel_fastpath.db import connecting as db_connecting
from otel_fastpath.db import conventions, cursors, database, derived
from otel_fastpath.db.dbapi import plans as dbapi_plans
from otel_fastpath.db.psycopg2 import connecting, hooks, texts
from otel_fastpath.db.queries import comments
from otel_fastpath.wrapping import call as calls


def _query(connection):
    cursor = connection.cursor(cursor_factory=psycopg2.extras.DictCursor)
    cursor.execute(psycopg2.sql.SQL("SELECT {}, %s").format(psycopg2.sql.Literal(1)), [2])
    found = [cursor.fetchone()[:]]
    cursor.callproc("generate_series", [3, 4])
    return [*found, *map(tuple, cursor.fetchall())]


def _batch(connection):
    cursor = connection.cursor()
    cursor.execute("CREATE TEMP TABLE batch (id int)")
    cursor.executemany("INSERT INTO batch VALUES (%s)", [(1,), (2,)])
    psycopg2.extras.execute_batch(cursor, "INSERT INTO batch VALUES (%s)", [(3,), (4,)])
    psycopg2.extras.execute_values(cursor, "INSERT INTO batch VALUES %s", [(5,), (6,)])
    out = io.StringIO()
    cursor.copy_to(out, "batch")
    return out.getvalue().split()


def _parts(connection):
    with connection.cursor("mine", withhold=True) as cursor:
        cursor.itersize = 2
        cursor.execute("SELECT generate_series(1, 5)")
        found = [cursor.fetchone(), *cursor.fetchmany(1), *cursor]
    connection.commit()
    return found


def _errors(connection):
    found = []
    for call in (
        lambda: connection.cursor().execute("SELECT * FROM nothing"),
        lambda: connection.cursor().executemany("INSERT INTO nothing VALUES (%s)", [(1,)]),
        lambda: connection.cursor().copy_expert("COPY nothing TO STDOUT", io.StringIO()),
        lambda: psycopg2.extras.execute_values(connection.cursor(), "SELECT nothing", [(1,)]),
        lambda: psycopg2.extras.execute_batch(7, "SELECT 1", [(1,)]),
        lambda: connection.cursor().execute("SELECT %s", [object()]),
        lambda: connection.cursor().execute(7),
        lambda: connection.cursor(cursor_factory=7),
        lambda: psycopg2.connect("nonsense"),
    ):
        try:
            call()
        except Exception as error:  # each of them
            found.append(type(error).__name__)
        connection.rollback()
    return found


# What is done -> what it gives.
ENTRIES = {
    "query": (_query, [[1, 2], (3,), (4,)]),
    "batch": (_batch, ["1", "2", "3", "4", "5", "6"]),
    "parts": (_parts, [(1,), (2,), (3,), (4,), (5,)]),
    "errors": (
        _errors,
        [
            *("UndefinedTable", "UndefinedTable", "UndefinedTable", "ValueError", "AttributeError"),
            *("ProgrammingError", "TypeError", "TypeError", "ProgrammingError"),
        ],
    ),
}
# The place of a function of ours that every entry or some of them come through.
OWN = {
    "link": (database.Database, "link"),
    "new link": (database.Database, "new_link"),
    "read": (conventions, "read"),
    "plan": (dbapi_plans.Plans, "plan"),
    "tell": (db_calls, "tell"),
    "rows": (cursors, "count"),
    "series": (calls.CallDurations, "record_failed"),
    "comment": (comments, "comment"),
    "text": (texts, "rendered"),
    "class": (derived.Derived, "over"),
    "server": (connecting, "server_of"),
    "meant": (connecting, "_meant"),
    "factory": (connecting, "_with_factory"),
    "cursor": (connecting, "_given"),
    "left": (hooks, "_leave"),
    "ended": (hooks, "_end_pending"),
    "begin": (db_connecting, "begin_connect"),
}


@pytest.fixture
def everything(instrumentor, core, database_url):
    """`everything(**providers)`: each entry once; what came of it must be psycopg2's own."""

    def main():
        before = context.get_current()
        connection = psycopg2.connect(database_url)
        try:
            for name, (entry, expected) in ENTRIES.items():
                assert (name, entry(connection)) == (name, expected)
                assert context.get_current() is before, name
            connection.commit()
        finally:
            connection.close()
        made = psycopg2.connect(database_url, connection_factory=own)
        with made, made.cursor(cursor_factory=own_cursor) as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)
        made.close()
        _asynchronous(database_url)
        assert context.get_current() is before

    def run(sabotage=lambda: None, **providers):
        options = {"psycopg2_options": "parameters,rows,sqlcommenter,slow=1us,repeats=2"}
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **options, **providers)
        sabotage()
        token = context.attach(context.set_value("mine", 1))
        try:
            with broken_logging():
                main()
        finally:
            context.detach(token)

    return run


class Own(psycopg2.extensions.connection):
    """A connection of an application."""


class Cursor(psycopg2.extensions.cursor):
    """A cursor of an application."""


def own(*args):
    """A factory of connections that is no class."""
    return Own(*args)


def own_cursor(*args):
    """A factory of cursors that is no class."""
    return Cursor(*args)


def _asynchronous(database_url):
    connection = psycopg2.connect(database_url, async_=True)
    psycopg2.extras.wait_select(connection)
    cursor = connection.cursor()
    cursor.execute("SELECT %s", [1])
    psycopg2.extras.wait_select(connection)
    assert cursor.fetchall() == [(1,)]
    cursor.execute("SELECT nothing")
    with pytest.raises(psycopg2.errors.UndefinedColumn):
        psycopg2.extras.wait_select(connection)
    connection.close()


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(everything, saboteur, caplog):
    """Whichever part of the set-up raises, and our log besides."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")

    everything(**FOREIGN[saboteur]())

    assert [line for line in caplog.messages if "detach" in line] == []


@pytest.mark.parametrize("saboteur", RAISED)
def test_an_error_of_the_set_up_is_raised(instrumentor, core, database_url, saboteur):
    """The error of a processor, sampler or id generator is the application's to see, and the next query works."""
    instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
    connection = psycopg2.connect(database_url)
    connection.autocommit = True
    with raising_once():
        connection.cursor().execute("SELECT 1")
    instrumentor.uninstrument()
    cursor = connection.cursor()
    cursor.execute("SELECT 2")
    assert cursor.fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize(("core", "place"), crossed(["c", "py"], list(OWN)), indirect=["core"])
def test_a_fault_of_ours_is_counted_only(everything, no_faults, monkeypatch, place):
    """In whichever function of the wrapper."""
    everything(lambda: monkeypatch.setattr(*OWN[place], as_ours(broken)), **plain())

    assert no_faults.counts()


@pytest.mark.parametrize("error", [Odd(), Sabotage(), KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_an_exception_is_the_very_same(wrap, run, error):
    """Whatever a cursor of the application raises, also what cannot be made a text."""

    class Raising(psycopg2.extensions.cursor):
        def execute(self, *_args):
            raise error

    wrap()
    before = context.get_current()

    def main(connection):
        with pytest.raises(type(error)) as raised:
            connection.cursor(cursor_factory=Raising).execute("SELECT 1")
        assert raised.value is error

    run(main)
    assert context.get_current() is before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", ["on_start", "on_end"])
def test_who_asks_to_stop_is_heard(wrap, monkeypatch, run, seen, stop, at):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""
    wrap()

    def interrupted(*_args, **_kwargs):
        raise stop

    def main(connection):
        before = context.get_current()
        with monkeypatch.context() as patched:
            patched.setattr(seen.tracer_provider._active_span_processor._span_processors[0], at, interrupted)
            with pytest.raises(stop):
                connection.cursor().execute("SELECT 1")
        assert context.get_current() is before

    run(main)
