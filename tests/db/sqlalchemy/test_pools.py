"""The metrics of pools, and what becomes of them."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest
import sqlalchemy as sa
from sqlalchemy import pool
from sqlalchemy.ext.asyncio import create_async_engine

from otel_fastpath.db.sqlalchemy import pools

PREFIX = "db.client.connection."


def values(seen, name):
    """(Pool, state or None) -> value, of the pools' metric of this name."""
    return {
        (point.attributes[f"{PREFIX}pool.name"], point.attributes.get(f"{PREFIX}state")): getattr(
            point, "value", getattr(point, "count", None)
        )
        for point in seen.metrics().get(PREFIX + name, [])
    }


@pytest.fixture
def engine_of(tmp_path):
    """Make an engine on a file; disposed of after the test."""
    made = []

    def make(**settings):
        made.append(sa.create_engine(f"sqlite:///{tmp_path}/file.db", **settings))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.mark.proves("sqlalchemy.pool.*")
def test_a_pool_is_measured(wrap, engine_of):
    """Its sizes when they are read; waiting, using and connecting as they happen."""
    seen = wrap("no-transactions")
    engine = engine_of(pool_size=2, max_overflow=3, pool_logging_name="mine")

    with engine.connect(), engine.connect():
        pass
    with engine.connect():
        assert values(seen, "count") == {("mine", "idle"): 1, ("mine", "used"): 1}

    assert values(seen, "max") == {("mine", None): 5}
    assert values(seen, "idle.max") == {("mine", None): 2}
    assert values(seen, "wait_time") == values(seen, "use_time") == {("mine", None): 3}
    assert values(seen, "create_time") == {("mine", None): 2}


def test_waiters_are_pending(wrap, engine_of):
    """Of a thread that waits."""
    seen = wrap()
    engine = engine_of(pool_size=1, max_overflow=0, pool_logging_name="mine")
    connection = engine.connect()
    thread = threading.Thread(target=lambda: engine.connect().close())
    thread.start()
    while not values(seen, "pending_requests").get(("mine", None)):
        pass
    connection.close()
    thread.join()

    assert values(seen, "pending_requests") == {("mine", None): 0}


@pytest.mark.parametrize("kind", [pool.NullPool, pool.StaticPool, pool.SingletonThreadPool])
def test_pools_without_a_size_know_what_is_used(wrap, engine_of, tmp_path, kind):
    """Their name is that of the file."""
    seen = wrap()
    engine = engine_of(poolclass=kind)

    with engine.connect():
        assert values(seen, "count") == {(f"{tmp_path}/file.db", "used"): 1}

    assert values(seen, "count") == {(f"{tmp_path}/file.db", "used"): 0}
    assert values(seen, "max") == values(seen, "idle.max") == {}


def test_the_name_is_that_of_the_server(wrap, url):
    """Where the application gave none; an async pool is measured likewise."""
    seen = wrap()
    target = url("asyncpg")

    async def main():
        engine = create_async_engine(target, pool_size=1, max_overflow=0)
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
            waiting = asyncio.ensure_future(engine.connect().start())
            await asyncio.sleep(0.05)
            found.update(values(seen, "count") | values(seen, "pending_requests"))
        await (await waiting).close()
        await engine.dispose()

    found = {}
    asyncio.run(main())

    name = f"{target.host}:{target.port or 5432}/{target.database}"
    assert found == {(name, "idle"): 0, (name, "used"): 1, (name, None): 1}


def test_waiting_is_a_span_by_option(wrap, engine_of):
    """Of the application's thread, with the connect in it."""
    seen = wrap("acquire,no-transactions")
    engine = engine_of()

    for _ in range(2):
        engine.connect().close()

    connect, first, second = seen.spans()
    assert (connect.name, first.name, second.name) == ("CONNECT", "pool.acquire", "pool.acquire")
    assert connect.parent.span_id == first.context.span_id


def test_dispose_ends_the_old_pool(wrap, engine_of):
    """Its connections are no longer counted, the new pool's are."""
    seen = wrap()
    engine = engine_of(pool_logging_name="mine")
    engine.connect().close()

    engine.dispose()
    assert values(seen, "count") == {}
    with engine.connect():
        assert values(seen, "count") == {("mine", "idle"): 0, ("mine", "used"): 1}


def _use_with_options(engine):
    """Use its pool through engines that no longer exist when this returns."""
    engine.execution_options(mine=1).execution_options(also=2).connect().close()
    gc.collect()


@pytest.mark.usefixtures("unfrozen")
def test_a_pool_outlives_an_engine_with_options(wrap, engine_of):
    """Although that was the first to use it, its connects are still spans, and it is measured."""
    seen = wrap("no-transactions")
    engine = engine_of(pool_logging_name="mine")
    _use_with_options(engine)

    with engine.connect(), engine.connect():
        assert values(seen, "count") == {("mine", "idle"): 0, ("mine", "used"): 2}

    assert seen.names() == ["CONNECT", "CONNECT"]
    assert values(seen, "create_time") == {("mine", None): 2}
    assert values(seen, "use_time") == {("mine", None): 3}


@pytest.mark.usefixtures("unfrozen")
def test_dispose_ends_the_old_pool_whoever_used_it_first(wrap, engine_of):
    """An engine with options has the pool of the engine that it was made of."""
    seen = wrap()
    engine = engine_of(pool_logging_name="mine")
    _use_with_options(engine)
    pool_before = engine.pool

    engine.dispose()

    assert pool_before is not engine.pool
    assert values(seen, "count") == {}


@pytest.mark.usefixtures("unfrozen")
def test_nothing_is_kept_of_engines(wrap):
    """Neither the engine nor its pool, nor a connection that was detached from it."""
    seen = wrap()
    engine = sa.create_engine("sqlite://", poolclass=pool.QueuePool)
    connection = engine.connect()
    connection.detach()
    connection.close()
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
    engine.dispose()
    references = [weakref.ref(engine), weakref.ref(engine.pool), weakref.ref(pools.watched(engine))]
    del engine, connection

    gc.collect()

    assert [reference() for reference in references] == [None] * 3
    assert values(seen, "count") == {}


def test_uninstrument_ends_the_metrics(wrap, engine_of, instrumentor):
    """Connections that are in use go on."""
    seen = wrap()
    engine = engine_of(pool_logging_name="mine")

    with engine.connect():
        instrumentor.uninstrument()
        assert values(seen, "count") == {}

    assert values(seen, "use_time") == {}


def test_a_dialect_without_a_name_is_pinged(wrap, seen, no_faults):
    """As SQLAlchemy's own tests have them, and dialects of others may be."""
    from sqlalchemy.engine.default import DefaultDialect

    class Dialect(DefaultDialect):
        def do_ping(self, dbapi_connection):
            return dbapi_connection == "a connection"

    wrap()

    assert Dialect()._do_ping_w_event("a connection") is True
    assert list(seen.spans()) == []
    assert no_faults.counts() == {}
