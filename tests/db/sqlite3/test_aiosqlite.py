"""aiosqlite: its statements are those of sqlite3, with the span of who called as their parent."""

from __future__ import annotations

import asyncio

import pytest

aiosqlite = pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")


@pytest.mark.proves("sqlite3.aiosqlite.*")
def test_spans_have_the_callers_span_as_their_parent(wrap):
    """Of each method; two tasks on one connection are not mixed."""
    seen = wrap()
    tracer = seen.tracer_provider.get_tracer("test")

    async def task(db, name):
        with tracer.start_as_current_span(name):
            cursor = await db.execute("SELECT ?", (name,))
            assert await cursor.fetchall() == [(name,)]
            assert [row async for row in await cursor.execute("SELECT 1")] == [(1,)]

    async def main():
        with tracer.start_as_current_span("root"):
            async with aiosqlite.connect(":memory:") as db:
                await db.executescript("CREATE TABLE t (id int)")
                await db.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
                assert await db.execute_fetchall("SELECT * FROM t") == [(1,), (2,)]
                await db.commit()
                await asyncio.gather(task(db, "a"), task(db, "b"))
                with pytest.raises(aiosqlite.OperationalError):
                    await db.execute("SELECT * FROM nothing")

    asyncio.run(main())

    spans = {span.context.span_id: span for span in seen.spans()}
    found = [(span.name, spans[span.parent.span_id].name) for span in spans.values() if span.parent]
    assert [each for each in found if each[1] == "root" and each[0] not in {"a", "b"}] == [
        ("CONNECT", "root"),
        ("CREATE TABLE t", "root"),
        ("BATCH INSERT t", "root"),
        ("SELECT t", "root"),
        ("COMMIT", "root"),
        ("SELECT nothing", "root"),
    ]
    assert [each for each in found if each[0] == "SELECT"].count(("SELECT", "a")) == 2
    assert [each for each in found if each[0] == "SELECT"].count(("SELECT", "b")) == 2


@pytest.mark.usefixtures("in_its_place")
def test_in_stocks_place_statements_have_a_parent(stock_instrumentor, wrap, seen):
    """Stock's are roots of traces of their own: aiosqlite runs them in a thread, which has no span."""
    tracer = seen.tracer_provider.get_tracer("test")

    async def main():
        async with aiosqlite.connect(":memory:") as db:
            with tracer.start_as_current_span("root"):
                await (await db.cursor()).execute("SELECT 1")

    def parents():
        asyncio.run(main())
        spans = seen.spans()
        return [span.parent is not None for span in spans if span.name == "SELECT"]

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    assert parents() == [False]
    wrap(telemetry="same")
    assert parents() == [True]


def test_uninstrumented_it_is_aiosqlites(wrap, instrumentor):
    """The same functions."""
    before = dict(vars(aiosqlite.Connection))
    wrap()
    assert aiosqlite.Connection._execute is not before["_execute"]
    instrumentor.uninstrument()

    assert dict(vars(aiosqlite.Connection)) == before
