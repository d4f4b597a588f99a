"""Whatever goes wrong is told as it should be, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from busy import busy
from opentelemetry.trace import StatusCode


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


def test_a_parameter_that_cannot_be_text_is_no_fault_of_the_query(look, no_faults):
    """It is counted, and the query runs."""

    class Odd(int):
        def __str__(self):
            raise ZeroDivisionError

    async def main(connection):
        assert await connection.fetchval("SELECT $1::int", Odd(3)) == 3

    span = look(main, options="parameters").one()

    assert span.status.status_code is StatusCode.UNSET
    no_faults.forget()


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
