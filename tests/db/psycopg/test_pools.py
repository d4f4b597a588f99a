"""Pools: what they do is seen from outside, and they do it as without us."""

from __future__ import annotations

import asyncio
import gc
import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import many_tasks
import psycopg_pool
import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

PREFIX = "db.client.connection."


def values(seen, name):
    """State or None -> value, of the pool's metric of this name."""
    points = seen.metrics().get(PREFIX + name, [])
    return {
        point.attributes.get(f"{PREFIX}state"): point.value if hasattr(point, "value") else point.count
        for point in points
    }


@pytest.fixture
def make_pool(database_url):
    """Makes a pool of one to two connections, which is ready."""

    def make(**settings):
        settings = {"min_size": 1, "max_size": 2, "name": "mine", **settings}
        return psycopg_pool.ConnectionPool(database_url, open=False, **settings)

    return make


@pytest.mark.proves("psycopg.pool.*")
def test_a_pools_connections_are_metrics(wrap, make_pool):
    """By state, with its limits, as they are when somebody reads; under the pool's own name."""
    seen = wrap()
    with make_pool() as pool:
        pool.wait()
        found = [values(seen, "count")]
        with pool.connection():
            found.append(values(seen, "count"))
            with pool.connection():
                found.append(values(seen, "count"))
        found += [values(seen, name) for name in ("idle.min", "idle.max", "max", "pending_requests")]
        names = {dict(point.attributes)[f"{PREFIX}pool.name"] for point in seen.metrics()[f"{PREFIX}max"]}

    assert names == {"mine"}
    assert found == [
        {"idle": 1, "used": 0},
        {"idle": 0, "used": 1},
        {"idle": 0, "used": 2},
        {None: 1},
        {None: 2},
        {None: 2},
        {None: 0},
    ]
    assert values(seen, "count") == {}


def test_times_are_measured(wrap, make_pool):
    """Waiting, using, connecting, and what ran out of time while all connections were borrowed."""
    seen = wrap()
    with make_pool() as pool:
        with pool.connection() as connection:
            connection.execute("SELECT 1")
        with pool.connection(), pool.connection(), pytest.raises(psycopg_pool.PoolTimeout):
            pool.getconn(timeout=0.05)

    counts = {name: values(seen, name)[None] for name in ("wait_time", "use_time", "create_time", "timeouts")}
    assert counts == {"wait_time": 3, "use_time": 3, "create_time": 2, "timeouts": 1}


@pytest.mark.proves("psycopg.async_pool.*")
def test_an_asynchronous_pool_is_the_same(wrap, database_url):
    """Its times, its timeouts, its connections."""
    seen = wrap("acquire")

    async def main():
        async with (
            psycopg_pool.AsyncConnectionPool(database_url, min_size=1, max_size=1, open=False, name="mine") as pool,
            pool.connection() as connection,
        ):
            await connection.execute("SELECT 1")
            with pytest.raises(psycopg_pool.PoolTimeout):
                await pool.getconn(timeout=0.05)
            return values(seen, "count")

    assert asyncio.run(main()) == {"idle": 0, "used": 1}
    counts = {name: values(seen, name)[None] for name in ("wait_time", "use_time", "create_time", "timeouts")}
    assert counts == {"wait_time": 1, "use_time": 1, "create_time": 1, "timeouts": 1}
    assert sorted(seen.names()) == ["COMMIT", "CONNECT", "SELECT", "pool.acquire", "pool.acquire"]


def test_a_null_pool_has_no_idle_connections(wrap, database_url):
    """Nor a maximum, if none was given."""
    seen = wrap()
    with psycopg_pool.NullConnectionPool(database_url, open=False, max_size=3, name="null") as pool:
        with pool.connection() as connection:
            connection.execute("SELECT 1")
            assert values(seen, "count") == {"idle": 0, "used": 1}
        assert values(seen, "max") == {None: 3}


@pytest.mark.parametrize(("options", "checks"), [("", 0), ("check", 1)])
def test_a_pools_check_is_a_span_for_who_asked(wrap, make_pool, options, checks):
    """It is an empty query."""
    seen = wrap(options)
    with make_pool(check=psycopg_pool.ConnectionPool.check_connection) as pool:
        pool.wait()
        seen.spans()
        with pool.connection() as connection:
            connection.execute("SELECT 1")

    assert [name for name in seen.names() if name not in {"SELECT", "COMMIT"}] == ["postgres"] * checks


def test_without_metrics_there_are_none(wrap, make_pool):
    """By name."""
    seen = wrap("no-metrics")
    with make_pool(max_size=1) as pool, pool.connection() as connection:
        connection.execute("SELECT 1")

    assert seen.names() == ["CONNECT", "SELECT", "COMMIT"]
    assert seen.metrics() == {}


def test_a_pool_from_before_is_seen(wrap, make_pool):
    """Its connections, its waiting, and its later connects."""
    with make_pool() as pool:
        pool.wait()
        seen = wrap()
        with pool.connection() as first, pool.connection() as second:
            first.execute("SELECT 1")
            second.execute("SELECT 2")
            assert values(seen, "count") == {"idle": 0, "used": 2}

    assert sorted(seen.names()) == ["COMMIT", "COMMIT", "CONNECT", "SELECT", "SELECT"]


def test_a_pool_is_not_kept_alive(wrap, make_pool):
    """By what we keep of it."""
    wrap()
    with make_pool() as pool, pool.connection() as connection:
        connection.execute("SELECT 1")
    alive = weakref.ref(pool)
    del pool, connection
    gc.collect()

    assert alive() is None


def test_a_connection_lost_while_borrowed_is_returned(wrap, make_pool):
    """And the pool goes on with a new one."""
    seen = wrap()
    with make_pool(max_size=1) as pool:
        with pool.connection() as connection:
            connection.close()
        with pool.connection() as connection:
            assert connection.execute("SELECT 7").fetchone() == (7,)

    assert seen.names().count("CONNECT") == 2
    assert values(seen, "use_time") == {None: 2}


def test_two_hundred_tasks(wrap, database_url):
    """Each query has its own task's span as its parent, and its own number of rows."""
    seen = wrap("rows, no-transactions")
    tracer = seen.tracer_provider.get_tracer("test")

    async def main():
        async with psycopg_pool.AsyncConnectionPool(database_url, min_size=2, max_size=4, open=False) as pool:

            async def one(number):
                with tracer.start_as_current_span(f"task {number}"):
                    async with pool.connection() as connection:
                        cursor = await connection.execute("SELECT generate_series(1, %s)", [number])
                        assert len(await cursor.fetchall()) == number

            await asyncio.gather(*(one(number) for number in range(200)))

    asyncio.run(main())

    many_tasks.check_parents(seen.spans(), "SELECT")


def test_two_hundred_calls_of_threads(wrap, make_pool):
    """Likewise."""
    seen = wrap("rows, no-transactions")
    tracer = seen.tracer_provider.get_tracer("test")

    with make_pool(max_size=4) as pool, ThreadPoolExecutor(16) as threads:

        def one(number):
            with tracer.start_as_current_span(f"task {number}"), pool.connection() as connection:
                assert len(connection.execute("SELECT generate_series(1, %s)", [number]).fetchall()) == number

        list(threads.map(one, range(200)))

    many_tasks.check_parents(seen.spans(), "SELECT")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_seen_too(wrap, run, database_url):
    """With a connection of its own."""
    import psycopg

    seen = wrap()
    run(lambda connection: connection.execute("SELECT 1"))
    seen.spans()
    child = os.fork()
    if not child:
        try:
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute("SELECT 2")
            os._exit(0 if seen.names() == ["CONNECT", "SELECT"] else 1)
        finally:
            os._exit(2)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.proves("psycopg.pool.start", "psycopg.async_pool.start")
def test_connects_are_not_in_the_trace_of_who_opened_the_pool(wrap, database_url):
    """Its tasks would keep that trace, of a request of long ago, for as long as the pool is open."""
    seen = wrap("no-transactions")
    tracer = trace.get_tracer("mine", tracer_provider=seen.tracer_provider)

    async def configure(connection):
        await connection.execute("SET application_name = 'mine'")
        await connection.commit()

    async def main():
        pool = psycopg_pool.AsyncConnectionPool(database_url, min_size=1, max_size=2, open=False, configure=configure)
        with tracer.start_as_current_span("first request") as span:
            await pool.open(wait=True)
            assert trace.get_current_span() is span
        with tracer.start_as_current_span("next request"):
            async with pool.connection() as connection, pool.connection():
                await connection.execute("SELECT 1")
        await pool.close()

    asyncio.run(main())

    spans = seen.spans()
    names = {span.context.span_id: span.name for span in spans}
    parents = {(span.name, span.parent and names[span.parent.span_id]) for span in spans}
    assert parents == {
        ("first request", None),
        ("next request", None),
        ("CONNECT", None),
        ("SET application_name", None),
        ("SELECT", "next request"),
    }


def test_a_pool_that_is_opened_unseen_connects_unseen(wrap, database_url):
    """As everything where telemetry is suppressed."""
    seen = wrap()

    async def main():
        pool = psycopg_pool.AsyncConnectionPool(database_url, min_size=1, open=False)
        with suppress_instrumentation():
            await pool.open(wait=True)
        await pool.close()

    asyncio.run(main())

    assert seen.spans() == ()
