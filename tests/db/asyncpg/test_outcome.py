"""Whatever telemetry raises around a call of asyncpg: the outcome is asyncpg's, and the context as before."""

from __future__ import annotations

import asyncio
import contextvars
import io
import logging

import asyncpg
import pytest
from combinations import crossed
from opentelemetry import context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sabotage import ABSORBED, FOREIGN, RAISED, Odd, Sabotage, as_ours, broken, broken_logging, plain, raising_once

from otel_fastpath.db import calls as db_calls
from otel_fastpath.db import conventions, database
from otel_fastpath.db import pools as db_pools
from otel_fastpath.db.asyncpg import plans, pools
from otel_fastpath.db.queries import comments
from otel_fastpath.wrapping import call as calls

OPTIONS = "acquire,parameters,rows,sqlcommenter,slow=1us,repeats=2"


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
    return told, await connection.copy_from_table("copied", output=output), output.getvalue()


async def _transaction(connection):
    with pytest.raises(KeyError):
        async with connection.transaction(), connection.transaction():
            raise KeyError
    return await connection.fetchval("SELECT 1")


async def _batch(connection):
    await connection.execute("CREATE TEMP TABLE batch (id int)")
    await connection.executemany("INSERT INTO batch VALUES ($1)", [(1,), (2,)])
    return await connection.fetchval("SELECT count(*) FROM batch")


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


async def _cancelled(connection):
    task = asyncio.create_task(connection.fetch("SELECT pg_sleep(5)"))
    while not connection._stmt_exclusive_section._acquired:  # noqa: ASYNC110  # asyncpg has no event for it
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return await connection.fetchval("SELECT 2")


# What is done -> what it gives.
ENTRIES = {
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
# The place of a function of ours that every entry or some of them come through.
OWN = {
    "link": (database.Database, "link"),
    "read": (conventions, "read"),
    "plan": (plans.Plans, "plan"),
    "tell": (db_calls, "tell"),
    "rows": (calls.CallDurations, "record_failed"),
    "comment": (comments, "commented"),
    "server": (plans, "server_of"),
    "watched": (pools, "watched"),
    "pool metrics": (db_pools, "metrics_of"),
    "acquire": (db_pools, "calls"),
    "begin": (calls, "begin"),
}


@pytest.fixture
def everything(instrumentor, core, database_url):
    """`everything(**providers)`: each entry once; what came of it must be asyncpg's own."""

    async def main():
        with pytest.raises((OSError, asyncpg.PostgresError)):
            await asyncpg.connect(database_url, database="nothing", timeout=5)
        before = context.get_current()
        async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool:
            async with pool.acquire() as connection:
                for name, (entry, expected) in ENTRIES.items():
                    assert (name, await entry(connection)) == (name, expected)
                    assert context.get_current() is before, name
                with pytest.raises(asyncio.TimeoutError):
                    await pool.acquire(timeout=0.02)
            assert await pool.fetchval("SELECT 8") == 8
        assert context.get_current() is before

    def run(sabotage=lambda: None, **providers):
        instrumentor.instrument(
            core=core, telemetry="full", disabled="exceptions", asyncpg_options=OPTIONS, **providers
        )
        sabotage()
        token = context.attach(context.set_value("mine", 1))
        try:
            with broken_logging():
                asyncio.run(main())
        finally:
            context.detach(token)

    return run


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(everything, saboteur, caplog):
    """Whichever part of the set-up raises, and our log besides."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")

    everything(**FOREIGN[saboteur]())

    assert [line for line in caplog.messages if "detach" in line] == []


@pytest.mark.parametrize("saboteur", RAISED)
def test_an_error_of_the_set_up_is_raised(instrumentor, core, database_url, saboteur):
    """The error of a processor, sampler or id generator is the application's to see, and the next query works."""

    async def main():
        connection = await asyncpg.connect(database_url)
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
        with raising_once():
            await connection.fetchval("SELECT 1")
        with raising_once():
            await connection.executemany("SELECT $1::int", [(1,), (2,)])
        instrumentor.uninstrument()
        assert await connection.fetchval("SELECT 2") == 2  # what was asked for
        await connection.close()

    asyncio.run(main())


@pytest.mark.parametrize(("core", "place"), crossed(["c", "py"], list(OWN)), indirect=["core"])
def test_a_fault_of_ours_is_counted_only(everything, no_faults, monkeypatch, place):
    """In whichever function of the wrapper."""
    everything(lambda: monkeypatch.setattr(*OWN[place], as_ours(broken)), **plain())

    assert no_faults.counts()


def test_a_description_that_fails_loses_nothing_else(wrap, run, no_faults, seen, monkeypatch):
    """The span ends, with the type of the exception, and the duration is recorded."""
    wrap()
    monkeypatch.setattr(plans.DATABASE.active.telemetry, "describe", as_ours(broken))

    async def main(connection):
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nothing")

    run(main)

    span = seen.spans()[-1]
    assert span.attributes["error.type"].endswith("UndefinedTableError")
    assert no_faults.counts()
    no_faults._counts.clear()


def test_a_metric_that_fails_does_not_lose_the_span(wrap, run, no_faults, seen, monkeypatch):
    """Of a call that failed and of one that did not."""
    wrap()
    monkeypatch.setattr(calls.CallDurations, "record_failed", as_ours(broken))

    async def main(connection):
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nothing")

    run(main)

    assert [span.name for span in seen.spans()] == ["CONNECT", "SELECT nothing"]
    assert no_faults.counts()
    no_faults._counts.clear()


@pytest.mark.parametrize("error", [Odd(), Sabotage(), KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_an_exception_is_the_very_same(wrap, monkeypatch, error):
    """Whatever asyncpg raises, also what cannot be made a text."""

    async def fetch(*_args):
        raise error

    monkeypatch.setattr(asyncpg.Connection, "fetch", fetch)
    wrap()
    connection = asyncpg.Connection.__new__(asyncpg.Connection)
    connection._aborted = True
    connection._protocol = type("Protocol", (), {"is_connected": lambda _: True})()
    before = context.get_current()

    coroutine = connection.fetch("SELECT 1")
    with pytest.raises(type(error)) as raised:
        coroutine.send(None)

    assert raised.value is error
    assert context.get_current() is before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("at", ["on_start", "on_end"])
def test_who_asks_to_stop_is_heard(wrap, monkeypatch, seen, stop, at):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""

    async def fetch(*_args):
        return []

    monkeypatch.setattr(asyncpg.Connection, "fetch", fetch)
    wrap()

    def interrupted(*_args, **_kwargs):
        raise stop

    monkeypatch.setattr(seen.tracer_provider._active_span_processor._span_processors[0], at, interrupted)
    connection = asyncpg.Connection.__new__(asyncpg.Connection)
    connection._aborted = True
    connection._protocol = type("Protocol", (), {"is_connected": lambda _: True})()
    before = context.get_current()

    with pytest.raises(stop):
        connection.fetch("SELECT 1").send(None)

    assert context.get_current() is before


def test_a_connect_can_be_given_up_in_another_context(wrap, seen, monkeypatch, caplog):
    """Its coroutine is closed elsewhere: no error there, no line in the log, and the next connect is a span again."""

    class Never:
        def __await__(self):
            yield

    async def connect(*_args):
        await Never()

    monkeypatch.setattr(asyncpg, "connect", connect)
    wrap()
    coroutine = asyncpg.connect()
    here = contextvars.copy_context()
    here.run(coroutine.send, None)

    coroutine.close()

    again = here.run(asyncpg.connect)
    here.run(again.send, None)
    here.run(again.close)
    assert seen.names() == ["CONNECT", "CONNECT"]
    assert caplog.messages == []


def test_a_query_can_be_given_up_in_another_context(wrap, seen, monkeypatch, caplog):
    """Likewise."""

    class Never:
        def __await__(self):
            yield

    async def fetch(*_args):
        await Never()

    monkeypatch.setattr(asyncpg.Connection, "fetch", fetch)
    wrap()
    connection = asyncpg.Connection.__new__(asyncpg.Connection)
    connection._aborted = True
    connection._protocol = type("Protocol", (), {"is_connected": lambda _: True})()
    coroutine = connection.fetch("SELECT 1")
    contextvars.copy_context().run(coroutine.send, None)

    coroutine.close()

    assert seen.names() == ["SELECT"]
    assert caplog.messages == []


def test_a_propagator_that_fails_leaves_the_query_as_it_was(everything, no_faults, monkeypatch):
    """For who asked for comments: they carry the trace context only."""
    monkeypatch.setattr(TraceContextTextMapPropagator, "inject", broken)
    everything(**plain())

    assert no_faults.counts() == {}
