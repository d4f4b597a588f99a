"""Whatever telemetry raises around a call of psycopg: the outcome is psycopg's, and the context as before."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import psycopg
import psycopg_pool
import pytest
from combinations import crossed
from opentelemetry import context
from sabotage import ABSORBED, FOREIGN, RAISED, Odd, Sabotage, as_ours, broken, broken_logging, plain, raising_once

from otel_fastpath.db import calls as db_calls
from otel_fastpath.db import conventions, cursors, database
from otel_fastpath.db import pools as db_pools
from otel_fastpath.db.psycopg import connecting, pipelines, plans, pools, reading, texts
from otel_fastpath.db.queries import comments
from otel_fastpath.wrapping import call as calls

OPTIONS = "acquire,check,parameters,rows,sqlcommenter,slow=1us,repeats=2"


def _query(connection):
    cursor = connection.execute(psycopg.sql.SQL("SELECT {}, %s").format(psycopg.sql.Literal(1)), [2])
    return cursor.fetchone(), connection.execute(b"SELECT 3").fetchone()


def _batch(connection):
    cursor = connection.cursor()
    cursor.execute("CREATE TEMP TABLE batch (id int)")
    cursor.executemany("INSERT INTO batch VALUES (%s)", [(1,), (2,)])
    cursor.executemany("SELECT id FROM batch WHERE id = %s", [(1,), (2,)], returning=True)
    return cursor.fetchall(), cursor.nextset(), cursor.fetchall()


def _parts(connection):
    cursor = connection.cursor()
    rows = list(cursor.stream("SELECT generate_series(1, 3)"))
    with cursor.copy("COPY (SELECT 4) TO STDOUT") as copy:
        rows += copy.rows()
    with connection.transaction(), connection.cursor("mine") as server:
        rows += server.execute("SELECT generate_series(5, 6)")
    return rows


def _transaction(connection):
    with contextlib.suppress(KeyError), connection.transaction(), connection.transaction():
        raise KeyError
    connection.autocommit = False
    connection.execute("SELECT 1")
    connection.rollback()
    connection.autocommit = True
    return connection.pgconn.transaction_status


def _pipeline(connection):
    found = []
    try:
        with connection.pipeline():
            found.append(connection.execute("SELECT 1").fetchone())
            connection.execute("SELECT * FROM nothing")
            connection.execute("SELECT 2")
    except psycopg.errors.UndefinedTable as error:
        found.append(type(error).__name__)
    return found


def _errors(connection):
    found = []
    for call in (
        lambda: connection.execute("SELECT * FROM nothing"),
        lambda: connection.cursor().executemany("INSERT INTO nothing VALUES (%s)", [(1,)]),
        lambda: next(connection.cursor().stream("SELECT nothing")),
        lambda: connection.cursor().copy("COPY nothing TO STDOUT").__enter__(),
        lambda: connection.execute("SELECT %s", [object()]),
        lambda: connection.execute(7),
    ):
        try:
            call()
        except Exception as error:  # noqa: PERF203  # each of them
            found.append(type(error).__name__)
    return found


# What is done -> what it gives.
ENTRIES = {
    "query": (_query, ((1, 2), (3,))),
    "batch": (_batch, ([(1,)], True, [(2,)])),
    "parts": (_parts, [(1,), (2,), (3,), ("4",), (5,), (6,)]),
    "transaction": (_transaction, 0),
    "pipeline": (_pipeline, [(1,), "UndefinedTable"]),
    "errors": (
        _errors,
        ["UndefinedTable"] * 2 + ["UndefinedColumn", "UndefinedTable", "ProgrammingError", "TypeError"],
    ),
}
# The place of a function of ours that every entry or some of them come through.
OWN = {
    "link": (database.Database, "link"),
    "new link": (database.Database, "new_link"),
    "read": (conventions, "read"),
    "plan": (plans.Plans, "plan"),
    "tell": (db_calls, "tell"),
    "rows": (pipelines, "rows_of"),
    "series": (calls.CallDurations, "record_failed"),
    "comment": (comments, "comment"),
    "text": (texts, "rendered"),
    "query": (cursors.Driver, "query_of"),
    "server": (connecting, "server_of"),
    "meant": (connecting, "server_meant"),
    "submission": (pipelines, "_submission"),
    "note": (pipelines.Submission, "note"),
    "held": (pipelines.Submission, "_hold_open"),
    "declared": (reading, "_declared"),
    "watched": (pools, "watched"),
    "pool metrics": (db_pools, "metrics_of"),
    "start of a pool": (pools, "_leave_trace"),
    "acquire": (db_pools, "calls"),
    "begin": (calls, "begin"),
}


@pytest.fixture
def everything(instrumentor, core, database_url):
    """`everything(**providers)`: each entry once; what came of it must be psycopg's own."""

    def main():
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(database_url, dbname="nothing", connect_timeout=5)
        before = context.get_current()
        check = psycopg_pool.ConnectionPool.check_connection
        settings = {"min_size": 1, "max_size": 1, "check": check, "kwargs": {"autocommit": True}}
        with psycopg_pool.ConnectionPool(database_url, open=True, **settings) as pool:
            with pool.connection() as connection:
                for name, (entry, expected) in ENTRIES.items():
                    assert (name, entry(connection)) == (name, expected)
                    assert context.get_current() is before, name
                with pytest.raises(psycopg_pool.PoolTimeout):
                    pool.getconn(timeout=0.02)
            with pool.connection() as connection:
                assert connection.execute("SELECT 8").fetchone() == (8,)
        asyncio.run(_asynchronous(database_url))
        assert context.get_current() is before

    def run(sabotage=lambda: None, **providers):
        instrumentor.instrument(
            core=core, telemetry="full", disabled="exceptions", psycopg_options=OPTIONS, **providers
        )
        sabotage()
        token = context.attach(context.set_value("mine", 1))
        try:
            with broken_logging():
                main()
        finally:
            context.detach(token)

    return run


async def _asynchronous(database_url):
    """What the asynchronous twins give."""
    before = context.get_current()
    connection = await psycopg.AsyncConnection.connect(database_url, autocommit=True)
    async with connection:
        assert await (await connection.execute("SELECT %s::int", [1])).fetchone() == (1,)
        assert [row async for row in connection.cursor().stream("SELECT 2")] == [(2,)]
        async with connection.cursor().copy("COPY (SELECT 3) TO STDOUT") as copy:
            assert [row async for row in copy.rows()] == [("3",)]
        async with connection.transaction(), connection.cursor("mine") as cursor:
            await cursor.execute("SELECT 4")
            assert await cursor.fetchall() == [(4,)]
        async with connection.pipeline():
            assert await (await connection.execute("SELECT 5")).fetchone() == (5,)
        assert context.get_current() is before
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(connection.execute("SELECT pg_sleep(5)"), 0.02)
        assert context.get_current() is before


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(everything, saboteur, caplog):
    """Whichever part of the set-up raises, and our log besides."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")

    everything(**FOREIGN[saboteur]())

    assert [line for line in caplog.messages if "detach" in line] == []


@pytest.mark.parametrize("saboteur", RAISED)
def test_an_error_of_the_set_up_is_raised(instrumentor, core, database_url, saboteur):
    """The error of a processor, sampler or id generator is the application's to see, and the next query works."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
        with raising_once():
            connection.execute("SELECT 1")
        with raising_once():
            connection.cursor().executemany("SELECT %s::int", [[1], [2]])
        instrumentor.uninstrument()
        assert connection.execute("SELECT 2").fetchone() == (2,)


@pytest.mark.parametrize(("core", "place"), crossed(["c", "py"], list(OWN)), indirect=["core"])
def test_a_fault_of_ours_is_counted_only(everything, no_faults, monkeypatch, place):
    """In whichever function of the wrapper."""
    everything(lambda: monkeypatch.setattr(*OWN[place], as_ours(broken)), **plain())

    assert no_faults.counts()


@pytest.mark.parametrize("error", [Odd(), Sabotage(), KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_an_exception_is_the_very_same(wrap, monkeypatch, database_url, error):
    """Whatever psycopg raises, also what cannot be made a text."""

    def execute(*_args):
        raise error

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    wrap()
    before = context.get_current()

    with psycopg.connect(database_url) as connection, pytest.raises(type(error)) as raised:
        connection.cursor().execute("SELECT 1")

    assert raised.value is error
    assert context.get_current() is before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", ["on_start", "on_end"])
def test_who_asks_to_stop_is_heard(wrap, monkeypatch, database_url, seen, stop, at):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""
    wrap()

    def interrupted(*_args, **_kwargs):
        raise stop

    with psycopg.connect(database_url, autocommit=True) as connection:
        before = context.get_current()
        with monkeypatch.context() as patched:
            patched.setattr(seen.tracer_provider._active_span_processor._span_processors[0], at, interrupted)
            with pytest.raises(stop):
                connection.execute("SELECT 1")
        assert context.get_current() is before
