"""In the stock instrumentation's place: its telemetry, but for what docs/asyncpg.md lists, and one span for each."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal

import asyncpg
import pytest
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor


async def program(connection):
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


def seen_of(span):
    """What is compared of a span."""
    return (
        span.name,
        span.kind,
        dict(span.attributes),
        span.status.status_code,
        span.instrumentation_scope.name,
        span.instrumentation_scope.version,
        span.instrumentation_scope.schema_url,
        [
            (event.name, event.attributes["exception.type"], event.attributes["exception.message"])
            for event in span.events
        ],
    )


def without_added(found):
    """Without what ours tells in addition, as docs/asyncpg.md says."""
    kept = []
    for name, kind, attributes, *rest in found:
        if name == "CONNECT":
            continue
        failed = "error.type" in attributes
        told = {
            key: value
            for key, value in attributes.items()
            if key not in {"error.type", "db.response.status_code"} or not failed
        }
        kept.append((name, kind, told, *rest))
    # Opening a cursor is a round trip of its own.
    first = next(index for index, span in enumerate(kept) if span[0] == "CURSOR: SELECT")
    return kept[:first] + kept[first + 1 :]


def stock(stock_instrumentor, seen, run):
    """What the stock instrumentation makes of the program."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(program)
    stock_instrumentor.uninstrument()
    return [seen_of(span) for span in seen.spans()]


@pytest.mark.proves("asyncpg.execute", "asyncpg.fetch", "asyncpg.fetchval", "asyncpg.fetchrow", "asyncpg.executemany")
@pytest.mark.parametrize("ours_first", [True, False])
def test_the_spans_are_equal(stock_instrumentor, wrap, seen, run, opt_in, ours_first, instrumentor):
    """In names, kinds, attributes, status, scope and events, in each mode of its conventions, in either order."""
    expected = stock(stock_instrumentor, seen, run)
    if opt_in:
        # It says the type of an error, ours its SQLSTATE.
        assert expected[-1][2].pop("error.type") == "UndefinedTableError"
    if ours_first:
        wrap()
        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    else:
        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
        wrap()
    run(program)

    found = [seen_of(span) for span in seen.spans()]

    assert without_added(found) == expected
    instrumentor.uninstrument()
    run(program)
    assert [seen_of(span)[0] for span in seen.spans()] == [span[0] for span in expected]


@pytest.mark.usefixtures("opt_in")
def test_each_has_its_say(stock_instrumentor, wrap, seen, run, instrumentor):
    """Enabled, ours emits its data; disabled, ours emits its own again."""
    wrap()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(lambda connection: connection.fetch("SELECT 1"))
    assert {span.instrumentation_scope.name for span in seen.spans()} == {"opentelemetry.instrumentation.asyncpg"}

    stock_instrumentor.uninstrument()
    run(lambda connection: connection.fetch("SELECT 1"))
    spans = seen.spans()
    assert [span.instrumentation_scope.name for span in spans] == ["otel_fastpath.asyncpg"] * 2

    instrumentor.uninstrument()
    run(lambda connection: connection.fetch("SELECT 1"))
    assert seen.spans() == ()


@pytest.mark.parametrize("mode", ["defer", "off"])
def test_told_to_stand_back_ours_does(stock_instrumentor, wrap, seen, run, mode):
    """Stock's does its own work: its coroutine stands around each row of a cursor."""
    wrap(asyncpg=mode)
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    async def main(connection):
        async with connection.transaction():
            assert len([row async for row in connection.cursor("SELECT generate_series(1, 3)")]) == 3

    run(main)

    assert seen.names() == ["BEGIN;", *["CURSOR: SELECT"] * 4, "COMMIT;"]


DIFFERENCES = {
    "names": (
        lambda c: c.execute("-- a comment\nSELECT 1"),
        ["--"],
        ["SELECT"],
    ),
    "names in blocks": (lambda c: c.execute(" /* a\nb */ SELECT 1"), ["/*"], ["SELECT"]),
    "semicolons": (lambda c: c.execute("SELECT;"), ["SELECT;"], ["SELECT"]),
    "parentheses": (lambda c: c.execute("(select 1)"), ["(select"], ["select"]),
    "prepare": (lambda c: c.prepare("SELECT 1"), [], ["PREPARE"]),
}


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_what_is_meant_to_differ_differs(stock_instrumentor, wrap, seen, run, kind):
    """Each line of the list in docs/asyncpg.md: theirs, and ours."""
    call, theirs, ours = DIFFERENCES[kind]
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(call)
    assert seen.names() == theirs
    wrap()
    run(call)

    assert seen.names() == ["CONNECT", *ours]


def test_a_keyword_breaks_theirs_and_not_ours(stock_instrumentor, wrap, seen, run):
    """`fetch(query=...)` is an IndexError with the stock instrumentation."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with pytest.raises(IndexError):
        run(lambda connection: connection.fetch(query="SELECT 1"))
    wrap()

    run(lambda connection: connection.fetch(query="SELECT 1"))

    assert seen.names() == ["CONNECT", "SELECT"]


def test_a_cancelled_query_is_an_error_with_ours(stock_instrumentor, wrap, seen, run):
    """And the status text has no value of a row."""

    async def main(connection):
        task = asyncio.create_task(connection.fetch("SELECT pg_sleep(5)"))
        while not connection._stmt_exclusive_section._acquired:  # noqa: ASYNC110  # asyncpg has no event for it
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await connection.execute("CREATE TEMP TABLE u (id text PRIMARY KEY)")
        for _ in range(2):
            with pytest.raises(asyncpg.UniqueViolationError):
                await connection.execute("INSERT INTO u VALUES ('secret'), ('secret')")

    def told():
        return [
            (span.status.status_code.name, span.status.description) for span in seen.spans() if span.name != "CONNECT"
        ]

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(main)
    cancelled, _, unique, _ = told()
    assert cancelled == ("UNSET", None)
    assert "secret" in unique[1]
    wrap()
    run(main)
    cancelled, _, unique, _ = told()
    assert cancelled == ("ERROR", "CancelledError")
    assert unique == ("ERROR", "UniqueViolationError")


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
