"""What an application sees of asyncpg is the same: signatures, kinds of functions, types, where errors are raised."""

from __future__ import annotations

import asyncio
import gc
import inspect
import warnings

import asyncpg
import pytest
from asyncpg.pool import PoolConnectionProxy


def test_what_raises_at_once_raises_at_once(look, database_url):
    """Methods of statements and cursors whose connection went back to its pool: at the call, not at the await."""

    async def main(_connection):
        async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool:
            async with pool.acquire() as connection, connection.transaction():
                statement = await connection.prepare("SELECT 1")
                cursor = await connection.cursor("SELECT 1")
            for call in (
                statement.fetch,
                statement.fetchval,
                statement.fetchrow,
                statement.explain,
                lambda: statement.executemany([]),
                lambda: cursor.fetch(1),
                cursor.fetchrow,
                lambda: cursor.forward(1),
            ):
                with pytest.raises(asyncpg.InterfaceError, match="released back to the pool"):
                    call()

    look(main)


def test_a_coroutine_can_be_made_now_and_awaited_later(look):
    """It is a coroutine, and its span begins with it."""

    async def main(connection):
        coroutine = connection.fetchval("SELECT 7")
        assert inspect.iscoroutine(coroutine)
        assert await asyncio.ensure_future(coroutine) == 7

    assert look(main).names() == ["SELECT"]


@pytest.mark.parametrize("how", ["closed", "cancelled"])
def test_a_coroutine_that_never_starts_gives_no_warning(look, how):
    """As that of asyncpg alone: neither for ours nor for asyncpg's own within it."""

    async def main(connection):
        statement = await connection.prepare("SELECT 1")
        async with connection.transaction():
            cursor = await connection.cursor("SELECT 1")
            for method in (connection.fetch, statement.fetch, statement.fetchrow, statement.explain, cursor.fetchrow):
                coroutine = method(*(["SELECT 1"] if method == connection.fetch else []))
                if how == "closed":
                    coroutine.close()
                else:
                    task = asyncio.create_task(coroutine)
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
                    del task
                del coroutine

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = look(main)
        gc.collect()

    assert [str(each.message) for each in caught] == []
    assert seen.names() == ["PREPARE SELECT", "BEGIN", "SELECT", "COMMIT"]


def test_a_coroutine_that_is_forgotten_gives_the_warning_of_asyncpg(look):
    """One, with the name of its method."""

    async def main(connection):
        statement = await connection.prepare("SELECT 1")
        statement.fetch()
        gc.collect()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        look(main)

    assert [str(each.message) for each in caught] == ["coroutine 'PreparedStatement.fetch' was never awaited"]


def test_subclasses_and_records_of_the_applications_work(look, database_url):
    """A `connection_class` that calls what it overrides, by itself and in a pool; a `record_class`."""

    class Record(asyncpg.Record):
        pass

    class Connection(asyncpg.Connection):
        async def fetch(self, query, *args, **kwargs):
            rows = await super().fetch(query, *args, **kwargs)
            return [*rows, "mine"]

    async def main(_connection):
        settings = {"connection_class": Connection, "record_class": Record}
        connection = await asyncpg.connect(database_url, **settings)
        row, mine = await connection.fetch("SELECT 1")
        assert (type(connection), type(row), mine) == (Connection, Record, "mine")
        await connection.close()
        async with asyncpg.create_pool(database_url, min_size=1, max_size=1, **settings) as pool:
            row, mine = await pool.fetch("SELECT 1")
            assert (type(row), mine) == (Record, "mine")
            async with pool.acquire() as proxy:
                assert type(proxy) is PoolConnectionProxy
                assert isinstance(proxy, asyncpg.Connection)

    assert look(main).names() == ["CONNECT", "SELECT", "CONNECT", "SELECT"]


def test_uvloop_is_the_same(wrap, database_url):
    """Every kind of operation once, on uvloop."""
    uvloop = pytest.importorskip("uvloop")
    seen = wrap()

    async def main():
        connection = await asyncpg.connect(database_url)
        await connection.execute("SELECT 1")
        await (await connection.prepare("SELECT $1::int")).fetch(1)
        async with connection.transaction():
            assert len([row async for row in connection.cursor("SELECT generate_series(1, 4)", prefetch=3)]) == 4
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch("SELECT pg_sleep(5)", timeout=0.02)
        await connection.close()

    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()

    names = ["CONNECT", "SELECT", "PREPARE SELECT", "SELECT", "BEGIN", "SELECT", "SELECT", "COMMIT", "SELECT"]
    assert seen.names() == names


def test_parameters_are_cut(look):
    """Each to a length, and not those of batches."""

    async def main(connection):
        await connection.fetch("SELECT $1::text, $2::bytea, $3::int[]", "x" * 5000, b"y" * 5000, list(range(5000)))
        await connection.executemany("SELECT $1::text", [("a",), ("b",)])

    single, batch = look(main, options="parameters").spans()

    values = [single.attributes[f"db.query.parameter.{index}"] for index in range(3)]
    assert [len(value) for value in values] == [256, 259, 256]
    assert values[2].startswith("[0, 1, 2, ")
    assert not any("parameter" in key for key in batch.attributes)
