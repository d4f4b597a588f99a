"""In the stock instrumentation's place: its telemetry, but for what docs/asyncpg.md lists, and one span for each."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal

import pytest
from busy import busy
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor


def test_a_keyword_breaks_theirs_and_not_ours(stock_instrumentor, wrap, seen, run):
    """`fetch(query=...)` is an IndexError with the stock instrumentation."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with pytest.raises(IndexError):
        run(lambda connection: connection.fetch(query="SELECT 1"))
    wrap()

    run(lambda connection: connection.fetch(query="SELECT 1"))

    assert seen.names() == ["CONNECT", "SELECT"]


def test_a_cancelled_query_is_no_error_with_theirs(stock_instrumentor, seen, run):
    """With ours it is."""

    async def main(connection):
        task = asyncio.create_task(connection.fetch("SELECT pg_sleep(5)"))
        await busy(connection)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(main)
    assert (seen.one().status.status_code.name, seen.spans()) == ("UNSET", ())


def test_parameters_that_it_captures_are_captured(stock_instrumentor, wrap, seen, run):
    """Under its key, cut to a length."""
    stock_instrumentor.capture_parameters = True
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(lambda connection: connection.fetch("SELECT $1::text", "a"))
    theirs = seen.one().attributes["db.statement.parameters"]
    wrap()

    async def main(connection):
        await connection.fetch("SELECT $1::text", "a")
        await connection.fetch("SELECT $1::text", "x" * 1000)

    run(main)

    _, short, long = seen.spans()
    assert short.attributes["db.statement.parameters"] == theirs == "('a',)"
    assert len(long.attributes["db.statement.parameters"]) == 256


@pytest.mark.parametrize("ours_first", [True, False])
def test_the_stock_instrumentor_has_what_others_read_of_it(stock_instrumentor, wrap, seen, opt_in, ours_first):
    """Its tracer and its mode, which it would have set when it was enabled."""
    if ours_first:
        wrap()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    if not ours_first:
        wrap()

    scope = stock_instrumentor._tracer._instrumentation_scope
    assert scope.name == "opentelemetry.instrumentation.asyncpg"
    assert stock_instrumentor._semconv_opt_in_mode.value == (opt_in or "default")


async def with_parameters(connection):
    """Queries with parameters of many types, by position and in batches."""
    await connection.execute("CREATE TEMP TABLE p (id text, d date, n numeric, b bytea, l int[])")
    values = ("1", dt.date(2020, 1, 2), decimal.Decimal("1.50"), b"x", [1, None])
    await connection.execute("INSERT INTO p VALUES ($1, $2, $3, $4, $5)", *values)
    await connection.executemany("INSERT INTO p (id) VALUES ($1)", [["1"], ["2"]])
    await connection.executemany("INSERT INTO p (id) VALUES ($1)", [["1"]])
    await connection.executemany("INSERT INTO p (id) VALUES ($1)", [])
    await connection.executemany("INSERT INTO p VALUES ($1, $2, $3, $4, $5)", [values, values])
    await connection.execute("SELECT 1")
    statement = await connection._prepare("SELECT * FROM p WHERE id = $1 AND d = $2")
    await statement.fetch("1", dt.date(2020, 1, 2))
    await statement.executemany([("1", dt.date(2020, 1, 2)), ("2", None)])


def test_parameters_are_as_in_stock(wrap, seen, run):
    """With `capture_parameters`, also those of `executemany`."""
    found = []
    for is_wrapped in (False, True):
        AsyncPGInstrumentor._instance = None
        stock_instrumentor = AsyncPGInstrumentor(capture_parameters=True)
        if is_wrapped:
            wrap()
        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
        run(with_parameters)
        stock_instrumentor.uninstrument()
        told = [(span.name, span.attributes.get("db.statement.parameters")) for span in seen.spans()]
        found.append([each for each in told if each[0] != "CONNECT"])
    AsyncPGInstrumentor._instance = None

    assert found[1] == found[0]
    assert ("INSERT", "([['1'], ['2']],)") in found[1]
