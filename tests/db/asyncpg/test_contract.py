"""asyncpg does what every wrapper of a database library does."""

from __future__ import annotations

import asyncio
import io

import asyncpg
import pytest
from busy import busy
from contracts.databases import Errors, Outcome, Takeover, Transparency, type_of
from opentelemetry import context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sabotage import broken, plain

from otel_fastpath.db import conventions, database
from otel_fastpath.db import pools as db_pools
from otel_fastpath.db.asyncpg import pools, query_plans
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as db_parameters
from otel_fastpath.wrapping import call as calls


async def _statement(connection):
    statement = await connection.prepare("SELECT $1::int")
    assert [row[0] for row in await statement.fetch(3)] == [3]
    await statement.executemany([(1,), (2,)])
    await statement.explain(1)
    return await statement.fetchval(4), (await statement.fetchrow(5))[0]


async def _cursor(connection):
    async with connection.transaction():
        cursor = await connection.cursor("SELECT * FROM generate_series(1, $1)", 5)
        first = [row[0] for row in await cursor.fetch(2)]
        await cursor.forward(1)
        rest = [row[0] async for row in connection.cursor("SELECT generate_series(1, 4)", prefetch=3)]
        return first, (await cursor.fetchrow())[0], rest


async def _copy(connection):
    await connection.execute("CREATE TEMP TABLE copied (id int)")
    told = await connection.copy_records_to_table("copied", records=[(1,), (2,)])
    output = io.BytesIO()
    found = told, await connection.copy_from_table("copied", output=output), output.getvalue()
    await connection.execute("DROP TABLE copied")
    return found


async def _transaction(connection):
    with pytest.raises(KeyError):
        async with connection.transaction(), connection.transaction():
            raise KeyError
    return await connection.fetchval("SELECT 1")


async def _batch(connection):
    await connection.execute("CREATE TEMP TABLE batch (id int)")
    await connection.executemany("INSERT INTO batch VALUES ($1)", [(1,), (2,)])
    count = await connection.fetchval("SELECT count(*) FROM batch")
    await connection.execute("DROP TABLE batch")
    return count


async def _errors(connection):
    found = []
    for call in (
        lambda: connection.fetch("SELECT * FROM nothing"),
        lambda: connection.executemany("INSERT INTO nothing VALUES ($1)", [(1,)]),
        lambda: connection.prepare("SELECT nothing"),
        lambda: connection.fetch("SELECT pg_sleep(5)", timeout=0.02),
    ):
        try:
            await call()
        except Exception as error:  # noqa: PERF203  # each of them
            found.append(type(error).__name__)
    async with connection.transaction():
        try:
            await connection.cursor("SELECT nothing")
        except asyncpg.UndefinedColumnError as error:
            found.append(type(error).__name__)
    return found


async def _cancel(connection):
    task = asyncio.create_task(connection.fetch("SELECT pg_sleep(5)"))
    await busy(connection)
    task.cancel()
    await task


async def _cancelled(connection):
    with pytest.raises(asyncio.CancelledError):
        await _cancel(connection)
    return await connection.fetchval("SELECT 2")


async def _query(connection):
    assert await connection.fetchval("SELECT 7") == 7


async def _iterate(connection):
    async with connection.transaction():
        assert len([row async for row in connection.cursor("SELECT generate_series(1, 3)")]) == 3


async def _violate(connection):
    await connection.execute("CREATE TEMP TABLE u (id text PRIMARY KEY)")
    await connection.execute("INSERT INTO u VALUES ('secret'), ('secret')")


@pytest.mark.proves("asyncpg.execute", "asyncpg.fetch", "asyncpg.fetchval", "asyncpg.fetchrow", "asyncpg.executemany")
class TestContract(Errors, Outcome, Takeover, Transparency):
    """asyncpg, on a real PostgreSQL."""

    query = staticmethod(_query)
    entries = {
        "execute": (lambda c: c.execute("SELECT 1"), "SELECT 1"),
        "fetchval": (lambda c: c.fetchval("SELECT $1::int", 7), 7),
        "executemany": (_batch, 2),
        "statement": (_statement, (4, 5)),
        "cursor": (_cursor, ([1, 2], 4, [1, 2, 3, 4])),
        "copy": (_copy, ("COPY 2", "COPY 2", b"1\n2\n")),
        "transaction": (_transaction, 1),
        "errors": (
            _errors,
            ["UndefinedTableError"] * 2 + ["UndefinedColumnError", "TimeoutError", "UndefinedColumnError"],
        ),
        "cancelled": (_cancelled, 2),
    }
    asked = [lambda c: c.fetchval("SELECT 1"), lambda c: c.executemany("SELECT $1::int", [(1,), (2,)])]
    options = "acquire,parameters,rows,sqlcommenter,slow=1us,repeats=2"

    errors = {
        "unique": (
            lambda c: c.execute("INSERT INTO t VALUES ($1, 'secret')", 1),
            asyncpg.UniqueViolationError,
            "23505",
        ),
        "syntax": (lambda c: c.fetch("SELEC 'secret'"), asyncpg.PostgresSyntaxError, "42601"),
        "no table": (lambda c: c.fetchrow("SELECT 'secret' FROM nothing"), asyncpg.UndefinedTableError, "42P01"),
        "bad value": (lambda c: c.fetchval("SELECT 'secret'::int"), asyncpg.InvalidTextRepresentationError, "22P02"),
        "many": (lambda c: c.executemany("INSERT INTO t VALUES ($1)", [(1,)]), asyncpg.UniqueViolationError, "23505"),
        "prepare": (lambda c: c.prepare("SELECT secret"), asyncpg.UndefinedColumnError, "42703"),
        "bad argument": (lambda c: c.fetchval("SELECT $1::int", "secret"), asyncpg.DataError, "22000"),
        "timeout": (
            lambda c: c.fetch("SELECT pg_sleep(5)", timeout=0.02),
            asyncio.TimeoutError,
            type_of(asyncio.TimeoutError),
        ),
        "cancelled": (_cancel, asyncio.CancelledError, type_of(asyncio.CancelledError)),
    }
    without_event = {"cancelled"}
    read = ("fetchval", "statement", "cursor")

    own = {
        "connection plan": (database.Database, "connection_plan"),
        "read": (conventions, "read"),
        "plan": (query_plans.Plans, "plan"),
        "tell": (db_parameters, "put_parameters"),
        "rows": (calls.CallDurations, "record_failed"),
        "comment": (comments, "add_comment"),
        "server": (query_plans, "server_of"),
        "watched": (pools, "watched"),
        "pool metrics": (db_pools, "metrics_of"),
        "acquire": (db_pools, "calls"),
        "begin": (calls, "begin"),
    }
    raising = [(asyncpg.Connection, "fetch", lambda c: c.fetch("SELECT 1"))]
    stops = (*Outcome.stops, asyncio.CancelledError)

    @pytest.fixture
    def program(self, database_url):
        """Each entry once, in a pool whose only connection it is."""

        async def main():
            with pytest.raises((OSError, asyncpg.PostgresError)):
                await asyncpg.connect(database_url, database="nothing", timeout=5)
            before = context.get_current()
            async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool:
                async with pool.acquire() as connection:
                    await self.ask_everything(connection)
                    with pytest.raises(asyncio.TimeoutError):
                        await pool.acquire(timeout=0.02)
                assert await pool.fetchval("SELECT 8") == 8
            assert context.get_current() is before

        return lambda: asyncio.run(main())

    def test_a_propagator_that_fails_leaves_the_query_as_it_was(self, everything, no_faults, monkeypatch):
        """For who asked for comments: they carry the trace context only."""
        monkeypatch.setattr(TraceContextTextMapPropagator, "inject", broken)
        everything(**plain())

        assert no_faults.counts() == {}

    telemetry = "full"
    names = {"CREATE", "INSERT", "SELECT", "select", "WITH", "CURSOR: SELECT", "BEGIN", "COMMIT"}
    stood_back = (_iterate, ["BEGIN;", *["CURSOR: SELECT"] * 4, "COMMIT;"])
    differences = [
        (lambda c: c.execute("-- a comment\nSELECT 1"), ["--"], ["CONNECT", "SELECT"]),
        (lambda c: c.execute(" /* a\nb */ SELECT 1"), ["/*"], ["CONNECT", "SELECT"]),
        (lambda c: c.execute("SELECT;"), ["SELECT;"], ["CONNECT", "SELECT"]),
        (lambda c: c.execute("(select 1)"), ["(select"], ["CONNECT", "select"]),
        (lambda c: c.prepare("SELECT 1"), [], ["CONNECT", "PREPARE"]),
    ]
    violation = (_violate, asyncpg.UniqueViolationError, "secret", "23505")

    @staticmethod
    async def program_of_both(connection):
        """What both see alike."""
        await connection.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")
        await connection.execute("INSERT INTO t VALUES ($1, $2)", 1, "one")
        await connection.fetch("SELECT * FROM t WHERE v <> 'x'")
        await connection.fetchval("select id from t")
        await connection.fetchrow("WITH a AS (SELECT 1) SELECT * FROM a")
        await connection.executemany("INSERT INTO t VALUES ($1, $2)", [(2, "two")])
        statement = await connection._prepare("SELECT * FROM t WHERE id = $1")
        await statement.fetch(1)
        await statement.fetchval(1)
        await statement.fetchrow(1)
        await statement.executemany([(1,)])
        await statement.explain(1)
        await connection.execute("BEGIN")
        # Until 0.32 a cursor needs a transaction of asyncpg's own, whose statements stock's names otherwise.
        connection._top_xact = object()
        cursor = await connection.cursor("SELECT * FROM t")
        await cursor.fetch(1)
        await cursor.fetchrow()
        await cursor.forward(1)
        connection._top_xact = None
        await connection.execute("COMMIT")
        await connection.add_listener("c", lambda *_: None)
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nothing")

    def compared(self, span):
        """Without what ours adds to an error; with an opt-in, stock says its type, ours its SQLSTATE."""
        name, kind, attributes, *rest = super().compared(span)
        if span.attributes.get("error.type") in {"UndefinedTableError", "42P01"}:
            attributes = {k: v for k, v in attributes.items() if k not in {"error.type", "db.response.status_code"}}
        return (name, kind, attributes, *rest)

    def events_of(self, span):
        """With the exceptions."""
        told = ("exception.type", "exception.message")
        return [(event.name, *(event.attributes[key] for key in told)) for event in span.events]

    def without_added(self, found):
        """Opening a cursor is a round trip of its own."""
        kept = [span for span in found if span[0] != "CONNECT"]
        first = next(index for index, span in enumerate(kept) if span[0] == "CURSOR: SELECT")
        return kept[:first] + kept[first + 1 :]

    owners = (
        *(asyncpg, asyncpg.connection, asyncpg.connect_utils, asyncpg.Connection, asyncpg.Pool),
        *(asyncpg.cursor.BaseCursor, asyncpg.cursor.Cursor, asyncpg.cursor.CursorIterator),
        *(asyncpg.prepared_stmt.PreparedStatement, asyncpg.transaction.Transaction, asyncpg.protocol.Protocol),
        *(asyncpg.pool.PoolConnectionHolder, asyncpg.pool.PoolConnectionProxy),
    )
    replaced = range(21, 100)
    on_top = ((asyncpg.Connection, "fetch"),)
    topped = staticmethod(lambda c: c.fetch("SELECT 1"))
    comments = [lambda c, text: c.fetchval(text), lambda c, text: c.fetchval(query=text)]
