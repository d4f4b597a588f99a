"""`telemetry="same"` in the stock instrumentation's place: the spans that it makes, and nothing else."""

from __future__ import annotations

import asyncio
import io

import asyncpg
import pytest


async def everything(connection):
    """Each operation of a connection but an iterated cursor, which has a span per row with stock's."""
    await connection.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")
    await connection.execute("INSERT INTO t VALUES ($1, $2)", 1, "one")
    await connection.executemany("INSERT INTO t VALUES ($1, $2)", [(2, "two"), (3, "three")])
    await connection.fetch("-- a comment\nSELECT * FROM t")
    await connection.fetchval("/* a comment */ select id from t")
    await connection.fetchrow("(SELECT 1)")
    await connection.execute("SELECT 1; SELECT 2")
    if hasattr(connection, "fetchmany"):
        await connection.fetchmany("SELECT $1::int", [(1,), (2,)])
    statement = await connection.prepare("SELECT * FROM t WHERE id = $1")
    await statement.fetch(1)
    await statement.fetchval(1)
    await statement.fetchrow(1)
    await statement.explain(1)
    await statement.explain(1, analyze=True)
    await (await connection.prepare("INSERT INTO t VALUES ($1)")).executemany([(4,), (5,)])
    await connection.copy_from_table("t", output=io.BytesIO())
    await connection.copy_from_query("SELECT * FROM t", output=io.BytesIO())
    await connection.copy_records_to_table("t", records=[(6, "six")])
    await connection.copy_to_table("t", source=io.BytesIO(b"7\tseven\n"))
    async with connection.transaction(isolation="serializable"):
        cursor = await connection.cursor("SELECT * FROM t")
        await cursor.fetch(1)
        await cursor.fetchrow()
        await cursor.forward(1)
        async with connection.transaction():
            await connection.fetch("SELECT 1")
    await connection.add_listener("c", lambda *_: None)
    await connection.reset()


async def opened(connection):
    """A cursor that cannot be opened."""
    async with connection.transaction():
        await connection.cursor("SELECT * FROM nothing")


async def iterated(connection):
    """A cursor that cannot be iterated."""
    async with connection.transaction():
        async for _ in connection.cursor("SELECT * FROM nothing"):
            pass


async def mistakes(connection):
    """What fails before anything is executed, where stock's has no span."""
    calls = [
        lambda: connection.prepare("SELECT * FROM nothing"),
        lambda: connection.copy_from_query("SELECT * FROM nothing", output=io.BytesIO()),
        lambda: connection.copy_from_table("nothing", output=io.BytesIO()),
    ]
    if hasattr(connection, "fetchmany"):
        calls.append(lambda: connection.fetchmany("SELECT * FROM nothing WHERE id = $1", [(1,)]))
    for call in calls:
        with pytest.raises(asyncpg.UndefinedTableError):
            await call()
    with pytest.raises(asyncpg.UndefinedTableError):
        await opened(connection)
    with pytest.raises(asyncpg.UndefinedTableError):
        await iterated(connection)


async def pooled(database_url):
    """A pool, whose connections are reset when they come back."""
    async with asyncpg.create_pool(database_url, min_size=1, max_size=2) as pool:
        for number in range(2):
            await pool.fetchval("SELECT $1::int", number)


def seen_of(span):
    """What is compared of a span."""
    scope = span.instrumentation_scope
    attributes = {
        # A savepoint's name is made from the identity of an object.
        name: value.partition("__asyncpg_")[0] if isinstance(value, str) else value
        for name, value in span.attributes.items()
    }
    return (
        *(span.name, span.kind.name, attributes, span.status.status_code.name, scope.name, scope.version),
        *(scope.schema_url, [event.name for event in span.events]),
    )


def both(stock_instrumentor, wrap, seen, ours_first, main):
    """What stock's emits for a program, and what ours emits in its place."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    main()
    stock_instrumentor.uninstrument()
    stock = [seen_of(span) for span in seen.spans()]
    if ours_first:
        wrap(telemetry="same")
        main()
        assert seen.spans() == ()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    if not ours_first:
        wrap(telemetry="same")
    main()
    return stock, [seen_of(span) for span in seen.spans()]


@pytest.mark.parametrize("ours_first", [True, False])
def test_the_spans_are_as_in_stock(stock_instrumentor, wrap, seen, run, ours_first):
    """Each of them, in either order, with its name; and there are no metrics."""
    stock, ours = both(stock_instrumentor, wrap, seen, ours_first, lambda: run(everything))

    assert ours == stock
    assert {"BEGIN", "SAVEPOINT", "EXPLAIN", "(SELECT", "--"} <= {span[0] for span in stock}
    assert seen.metrics() == {}


def test_what_fails_early_has_the_spans_of_stock(stock_instrumentor, wrap, seen, run):
    """Those of the iterated cursor, of the transactions, and none for the others."""
    stock, ours = both(stock_instrumentor, wrap, seen, ours_first=False, main=lambda: run(mistakes))

    assert [span[:2] for span in ours] == [span[:2] for span in stock]
    assert [span[3] for span in ours] == [span[3] for span in stock]
    assert [span[0] for span in stock].count("CURSOR: SELECT") == 1


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_pool_has_the_spans_of_stock(stock_instrumentor, wrap, seen, database_url, ours_first):
    """The query that resets a connection is one of them; and there are no metrics."""
    stock, ours = both(stock_instrumentor, wrap, seen, ours_first, lambda: asyncio.run(pooled(database_url)))

    assert ours == stock
    assert any("pg_advisory_unlock_all" in span[2].get("db.statement", "") for span in stock)
    assert seen.metrics() == {}


def test_asked_for_by_name_everything_is_there(stock_instrumentor, wrap, seen, run):
    """`asyncpg="on"` brings the spans and metrics that stock's does not have."""
    wrap(telemetry="same", asyncpg="on")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(lambda connection: connection.prepare("SELECT 1"))

    assert seen.names() == ["CONNECT", "PREPARE"]
    assert "db.client.operation.duration" in seen.metrics()


def test_the_status_says_what_emits_nothing(stock_instrumentor, wrap, instrumentor):
    """And why: what is off, and what is applied for the queries inside of it."""
    wrap(telemetry="same")
    stock_instrumentor.instrument()
    found = {row.name: (row.state.value, row.reason) for row in instrumentor.status()}

    assert found["asyncpg.fetch"] == ("applied", "")
    assert found["asyncpg.connect"] == ("off", "telemetry=same: the stock instrumentation emits nothing for it")
    silent = ("applied", "telemetry=same: it emits nothing, as the stock instrumentation")
    assert found["asyncpg.prepare"] == found["asyncpg.copy_to_table"] == found["asyncpg.cursor.open"] == silent
    stock_instrumentor.uninstrument()
    reasons = {row.reason for row in instrumentor.status() if row.name.startswith("asyncpg.") and row.reason}
    assert reasons == {"telemetry=same: the instrumentation of asyncpg is not loaded in this process"}
