"""Pools: what they do is seen from outside, and they do it as without us."""

from __future__ import annotations

import asyncio
import gc
import weakref
from urllib.parse import urlsplit

import asyncpg
import many_tasks
import pytest

PREFIX = "db.client.connection."


@pytest.fixture
def pool_name(database_url):
    """The conventions' name for a pool without one."""
    url = urlsplit(database_url)
    return f"{url.hostname}:{url.port or 5432}{url.path}"


def with_pool(function, database_url, **settings):
    """Run a coroutine function with a pool."""

    async def main():
        async with asyncpg.create_pool(database_url, min_size=1, max_size=2, **settings) as pool:
            return await function(pool)

    return asyncio.run(main())


def values(seen, name):
    """State or None -> value, of the pool's metric of this name."""
    points = seen.metrics().get(PREFIX + name, [])
    return {
        point.attributes.get(f"{PREFIX}state"): point.value if hasattr(point, "value") else point.count
        for point in points
    }


@pytest.mark.proves("asyncpg.pool.initialize")
def test_a_pools_connections_are_metrics(wrap, database_url, pool_name):
    """By state, with its limits, as they are when somebody reads."""
    seen = wrap()

    async def main(pool):
        found = [values(seen, "count")]
        async with pool.acquire():
            found.append(values(seen, "count"))
            async with pool.acquire():
                found.append(values(seen, "count"))
                waiting = asyncio.create_task(pool.fetchval("SELECT 1"))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                found.append(values(seen, "pending_requests"))
            await waiting
        found += [values(seen, name) for name in ("idle.min", "idle.max", "max", "pending_requests")]
        names = {dict(point.attributes)[f"{PREFIX}pool.name"] for point in seen.metrics()[f"{PREFIX}max"]}
        return found, names

    found, names = with_pool(main, database_url)

    assert names == {pool_name}
    assert found == [
        {"idle": 1, "used": 0},
        {"idle": 0, "used": 1},
        {"idle": 0, "used": 2},
        {None: 1},
        {None: 1},
        {None: 2},
        {None: 2},
        {None: 0},
    ]
    assert values(seen, "count") == {}


@pytest.mark.proves("asyncpg.pool.acquire", "asyncpg.pool.release", "asyncpg.pool.connect")
def test_times_are_measured(wrap, database_url):
    """Waiting, using, connecting, and what ran out of time."""
    seen = wrap()

    async def main(pool):
        await pool.fetch("SELECT 1")
        async with pool.acquire(), pool.acquire():
            with pytest.raises(asyncio.TimeoutError):
                await pool.acquire(timeout=0.01)

    with_pool(main, database_url)

    counts = {name: values(seen, name)[None] for name in ("wait_time", "use_time", "create_time", "timeouts")}
    assert counts == {"wait_time": 3, "use_time": 3, "create_time": 2, "timeouts": 1}


def test_a_query_of_a_pool_is_one_span(wrap, database_url):
    """The reset of its connection is none, each physical connect is one."""
    seen = wrap()

    async def main(pool):
        await pool.fetch("SELECT 1")
        await pool.execute("SELECT $1::int", 2)
        async with pool.acquire() as connection:
            await connection.reset()

    with_pool(main, database_url)

    assert seen.names() == ["CONNECT", "SELECT", "SELECT"]


def test_the_reset_is_a_span_for_who_asked(wrap, database_url):
    """By name."""
    seen = wrap("reset")
    with_pool(lambda pool: pool.fetch("SELECT 1"), database_url)

    connect, query, reset = seen.spans()
    assert (connect.name, query.name) == ("CONNECT", "SELECT")
    assert reset.attributes["db.query.text"].startswith("SELECT pg_advisory_unlock_all()")


def test_waiting_is_a_span_for_who_asked(wrap, database_url, pool_name):
    """With the pool's name; also where it fails."""
    seen = wrap("acquire")

    async def main(pool):
        async with pool.acquire(), pool.acquire():
            with pytest.raises(asyncio.TimeoutError):
                await pool.acquire(timeout=0.01)

    with_pool(main, database_url)

    spans = [span for span in seen.spans() if span.name == "pool.acquire"]
    assert [span.attributes.get("error.type", "").rpartition(".")[2] for span in spans] == ["", "", "TimeoutError"]
    assert {span.attributes[f"{PREFIX}pool.name"] for span in spans} == {pool_name}


def test_without_metrics_there_are_none(wrap, database_url):
    """By name."""
    seen = wrap("no-metrics")
    with_pool(lambda pool: pool.fetch("SELECT 1"), database_url)

    assert seen.names() == ["CONNECT", "SELECT"]
    assert seen.metrics() == {}


def test_a_pool_from_before_is_seen(wrap, database_url):
    """Its connections, its waiting, and its later connects, although it took asyncpg's `connect` when it was made."""
    sink = []

    async def main(pool):
        sink.append(wrap())
        async with pool.acquire() as first, pool.acquire() as second:
            await first.fetch("SELECT 1")
            await second.fetch("SELECT 2")
            return values(sink[0], "count")

    assert with_pool(main, database_url) == {"idle": 0, "used": 2}
    assert sink[0].names() == ["CONNECT", "SELECT", "SELECT"]


def test_a_pool_is_not_kept_alive(wrap, database_url):
    """Neither its queue nor what we keep of it."""
    wrap()
    alive = []

    async def main(pool):
        await pool.fetch("SELECT 1")
        alive.append(weakref.ref(pool._queue))

    with_pool(main, database_url)
    gc.collect()

    assert alive[0]() is None


def test_a_connection_lost_while_borrowed_is_returned(wrap, database_url):
    """And the pool goes on with a new one."""
    seen = wrap()

    async def main(pool):
        async with pool.acquire() as connection:
            connection.terminate()
        return await pool.fetchval("SELECT 7")

    assert with_pool(main, database_url) == 7
    # Since 0.32 a pool connects anew by itself, too.
    assert seen.names().count("SELECT") == 1
    assert values(seen, "use_time") == {None: 2}


def test_two_hundred_tasks(wrap, database_url):
    """Each query has its own task's span as its parent, and its own number of rows."""
    seen = wrap("rows")
    tracer = seen.tracer_provider.get_tracer("test")

    async def main(pool):
        async def one(number):
            with tracer.start_as_current_span(f"task {number}"):
                assert len(await pool.fetch("SELECT generate_series(1, $1::int)", number)) == number

        await asyncio.gather(*(one(number) for number in range(200)))

    with_pool(main, database_url)

    many_tasks.check_parents(seen.spans(), "SELECT")
