"""Whatever goes wrong is told as it should be, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode


async def busy(connection):
    """Wait until a query is on its way."""
    while not connection._stmt_exclusive_section._acquired:  # noqa: ASYNC110  # asyncpg has no event for it
        await asyncio.sleep(0)


async def _cancelled(connection):
    task = asyncio.create_task(connection.fetch("SELECT pg_sleep(5)"))
    await busy(connection)
    task.cancel()
    await task


ERRORS = {
    "unique": (lambda c: c.execute("INSERT INTO t VALUES ($1, 'secret')", 1), asyncpg.UniqueViolationError, "23505"),
    "syntax": (lambda c: c.fetch("SELEC 'secret'"), asyncpg.PostgresSyntaxError, "42601"),
    "no table": (lambda c: c.fetchrow("SELECT 'secret' FROM nothing"), asyncpg.UndefinedTableError, "42P01"),
    "bad value": (lambda c: c.fetchval("SELECT 'secret'::int"), asyncpg.InvalidTextRepresentationError, "22P02"),
    "many": (lambda c: c.executemany("INSERT INTO t VALUES ($1)", [(1,)]), asyncpg.UniqueViolationError, "23505"),
    "prepare": (lambda c: c.prepare("SELECT secret"), asyncpg.UndefinedColumnError, "42703"),
    "bad argument": (lambda c: c.fetchval("SELECT $1::int", "secret"), asyncpg.DataError, "22000"),
    "timeout": (lambda c: c.fetch("SELECT pg_sleep(5)", timeout=0.02), asyncio.TimeoutError, "TimeoutError"),
    "cancelled": (_cancelled, asyncio.CancelledError, "asyncio.exceptions.CancelledError"),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_told(look, kind):
    """Its SQLSTATE or type, in the span and in the metric; the status and attributes have no value of a row."""
    call, error, error_type = ERRORS[kind]

    async def main(connection):
        with pytest.raises(error):
            await call(connection)

    seen = look(main)

    span = seen.one()
    state = error_type if len(error_type) == 5 else None
    assert (span.status.status_code, span.attributes.get("db.response.status_code")) == (StatusCode.ERROR, state)
    assert span.attributes["error.type"].rpartition(".")[2] == error_type.rpartition(".")[2]
    assert "secret" not in str(span.status.description) + span.name
    assert "secret" not in str({**span.attributes, "db.query.text": ""})
    assert len(span.events) == (error is not asyncio.CancelledError)
    points = [dict(point.attributes) for point in seen.metrics()["db.client.operation.duration"]]
    assert span.attributes["error.type"] in [point.get("error.type") for point in points]


def test_the_connection_works_after_each(look):
    """What failed leaves nothing in our way; the context is as before."""

    async def main(connection):
        for call, error, _ in ERRORS.values():
            with pytest.raises(error):
                await call(connection)
            assert trace.get_current_span() is trace.INVALID_SPAN
            assert await connection.fetchval("SELECT 7") == 7

    look(main)


def test_a_closed_connection_is_told(look):
    """The error is asyncpg's, at the await."""

    async def main(connection):
        await connection.close()
        coroutine = connection.fetch("SELECT 1")
        with pytest.raises(asyncpg.InterfaceError, match="closed"):
            await coroutine
        connection.terminate()
        with pytest.raises(asyncpg.InterfaceError, match="closed"):
            await connection.execute("SELECT 1")

    first, second = look(main).spans()

    assert (
        first.attributes["error.type"] == second.attributes["error.type"] == "asyncpg.exceptions._base.InterfaceError"
    )


def test_a_second_query_meanwhile_is_a_span_of_its_own(look, seen, database_url):
    """It is refused by asyncpg; it is no part of the first one, which waits for a lock until then."""

    async def main(connection):
        other = await asyncpg.connect(database_url)
        await other.execute("SELECT pg_advisory_lock(97)")
        seen.spans()
        first = asyncio.create_task(connection.fetch("SELECT pg_advisory_lock(97)"))
        await busy(connection)
        with pytest.raises(asyncpg.InterfaceError, match="another operation is in progress"):
            await connection.fetch("SELECT 2")
        await other.close()
        await first

    refused, first = look(main).spans()

    assert refused.status.status_code is StatusCode.ERROR
    assert first.status.status_code is StatusCode.UNSET


def test_a_server_process_that_is_killed_is_told(look, database_url):
    """In the middle of a query; a new connection works."""

    async def main(connection):
        other = await asyncpg.connect(database_url)
        query = asyncio.create_task(connection.fetch("SELECT pg_sleep(5)"))
        pid = connection.get_server_pid()
        active = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'"
        while not await other.fetchval(active, pid):
            pass
        await other.execute("SELECT pg_terminate_backend($1)", pid)
        with pytest.raises((asyncpg.AdminShutdownError, asyncpg.ConnectionDoesNotExistError)):
            await query
        await other.close()

    failed = [span for span in look(main).spans() if span.status.status_code is StatusCode.ERROR]

    (span,) = failed
    assert span.attributes["error.type"] in {"57P01", "08003"}


def test_suppressed_nothing_is_seen(look):
    """By either key; what asyncpg does is done."""

    async def main(connection):
        for key in (context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"):
            token = context.attach(context.set_value(key, value=True))
            try:
                assert await connection.fetchval("SELECT 1") == 1
                statement = await connection.prepare("SELECT id FROM t")
                assert len(await statement.fetch()) == 10
                async with connection.transaction():
                    assert len([row async for row in connection.cursor("SELECT id FROM t")]) == 10
            finally:
                context.detach(token)

    assert look(main).spans() == ()


def test_a_fault_of_ours_is_not_the_applications(look, no_faults, monkeypatch, logged):
    """The query runs once and gives its result."""
    from otel_fastpath.db import conventions

    def broken(_text):
        raise ZeroDivisionError

    async def main(connection):
        monkeypatch.setattr(conventions, "read", broken)
        assert await connection.fetchval("SELECT 1") == 1
        assert (await connection.prepare("SELECT 2")).get_query() == "SELECT 2"
        async with connection.transaction():
            assert [row[0] async for row in connection.cursor("SELECT 3")] == [3]
        monkeypatch.undo()

    assert look(main).spans() == ()
    assert sum(no_faults.counts().values()) >= 4
    assert 1 <= len(logged()) <= 3
    no_faults._counts.clear()


def test_a_parameter_that_cannot_be_text_is_no_fault_of_the_query(look, no_faults):
    """It is counted, and the query runs."""

    class Odd(int):
        def __str__(self):
            raise ZeroDivisionError

    async def main(connection):
        assert await connection.fetchval("SELECT $1::int", Odd(3)) == 3

    span = look(main, options="parameters").one()

    assert span.status.status_code is StatusCode.UNSET
    no_faults._counts.clear()


@pytest.mark.parametrize("text", ["", "  ", ";", "/* a comment */", "-- a comment"])
def test_a_text_without_a_statement_is_no_error(look, text):
    """The span is named after the database; with the stock instrumentation, after `--`, `/*` or `;`."""
    span = look(lambda connection: connection.fetch(text)).one()

    assert span.status.status_code is StatusCode.UNSET
    assert span.name == span.attributes["db.namespace"]


@pytest.mark.parametrize("method", ["execute", "fetch", "fetchrow", "executemany", "prepare", "copy_from_query"])
def test_what_is_no_text_is_the_applications_error_alone(look, run, method):
    """Such as a list, which has no hash: asyncpg's own error, and no fault of ours."""
    given = {"executemany": ([],), "copy_from_query": ()}.get(method, ())
    output = {"output": "/dev/null"} if method == "copy_from_query" else {}
    raised = []

    async def main(connection):
        try:
            await getattr(connection, method)(["SELECT 1"], *given, **output)
        except Exception as error:
            raised.append((type(error), str(error)))

    run(main)
    span = look(main).one()

    bare, ours = raised
    assert bare == ours
    assert span.status.status_code is StatusCode.ERROR
