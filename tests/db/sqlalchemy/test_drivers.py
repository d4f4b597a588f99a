"""Over a driver with a wrapper of ours, exactly one layer tells what is executed."""

from __future__ import annotations

import asyncio
import gc

import pytest
import sqlalchemy as sa
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy_tables import METADATA, Row, T, select_one


def scopes(spans):
    """Library and name of each."""
    return [(span.instrumentation_scope.name.rpartition(".")[2], span.name) for span in spans]


@pytest.fixture
def run(url):
    """Run a coroutine function with an async engine over asyncpg."""

    def call(function, **settings):
        async def main():
            engine = create_async_engine(url("asyncpg"), **settings)
            try:
                return await function(engine)
            finally:
                await engine.dispose()

        return asyncio.run(main())

    return call


async def program(engine):
    """A connect, a statement, a transaction, and errors."""
    async with engine.connect() as connection:
        assert (await connection.execute(sa.text("SELECT 1"))).scalar() == 1
    async with engine.begin() as connection:
        await connection.execute(sa.text("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)"))
        insert = T.insert().returning(T.c.id)
        assert (await connection.execute(insert, {"id": 1, "v": "row 1"})).scalar() == 1
        assert await connection.run_sync(select_one) == [(1, "row 1")]


EXPECTED = ["CONNECT", "SELECT", "ROLLBACK", "CREATE TABLE t", "INSERT t", "SELECT t", "COMMIT"]


def test_by_default_it_is_sqlalchemy(wrap, run):
    """Nothing of asyncpg: no introspection at the first connect, no BEGIN, no PREPARE, no pings."""
    seen = wrap()

    run(program, pool_pre_ping=True)

    spans = seen.spans()
    assert scopes(spans) == [("sqlalchemy", name) for name in EXPECTED]
    assert seen.started == len(spans)
    durations = seen.metrics()["db.client.operation.duration"]
    assert sum(point.count for point in durations) == len(EXPECTED)


def test_by_option_it_is_the_driver(wrap, run):
    """Nothing of SQLAlchemy, but its pool's metrics."""
    seen = wrap("drivers")

    run(program)

    found = scopes(seen.spans())
    assert {library for library, _ in found} == {"asyncpg"}
    assert ("asyncpg", "SELECT t") in found
    assert "db.client.connection.use_time" in seen.metrics()


def test_the_option_does_not_silence_a_driver_without_a_wrapper(wrap):
    """There, SQLAlchemy tells."""
    seen = wrap("drivers", sqlite3="off")

    _select(sa.create_engine("sqlite://"))

    assert scopes(seen.spans()) == [("sqlalchemy", name) for name in ("CONNECT", "SELECT", "ROLLBACK")]


def _select(engine):
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
    engine.dispose()


@pytest.mark.parametrize("driver", ["sqlite", "psycopg2"])
def test_one_layer_tells_for_other_drivers_too(wrap, request, instrumentor, driver):
    """SQLAlchemy by default; by option, a driver in C, whose connections are of our subclasses."""
    if driver == "psycopg2":
        pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
        target = request.getfixturevalue("url")("psycopg2")
    else:
        target = "sqlite://"
    seen = wrap()
    _select(sa.create_engine(target))
    assert scopes(seen.spans()) == [("sqlalchemy", name) for name in ("CONNECT", "SELECT", "ROLLBACK")]

    instrumentor.uninstrument()
    wrap("drivers")
    _select(sa.create_engine(target))

    found = scopes(seen.spans())
    assert {library for library, _ in found} == {"psycopg2" if driver == "psycopg2" else "sqlite3"}
    assert [name for _, name in found][:1] == ["CONNECT"]
    assert "SELECT" in [name for _, name in found]


def test_psycopg_connects_once(wrap, url):
    """One span and one duration for each connect, also for one that fails; by option, those of the driver."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    seen = wrap()
    target = url("psycopg")
    _select(sa.create_engine(target))
    _refused(sa.create_engine(target.set(database="nothing")))
    asyncio.run(_select_async(create_async_engine(target)))
    asyncio.run(_refused_async(create_async_engine(target.set(database="nothing"))))

    expected = ["CONNECT", "SELECT", "ROLLBACK", "CONNECT"]
    assert scopes(seen.spans()) == [("sqlalchemy", name) for name in expected * 2]
    durations = seen.metrics()["db.client.operation.duration"]
    assert sum(point.count for point in durations) == len(expected) * 2


def _refused(engine):
    with pytest.raises(sa.exc.OperationalError):
        engine.connect()
    engine.dispose()


async def _select_async(engine):
    async with engine.connect() as connection:
        await connection.execute(sa.text("SELECT 1"))
    await engine.dispose()


async def _refused_async(engine):
    with pytest.raises(sa.exc.OperationalError):
        await engine.connect()
    await engine.dispose()


@pytest.mark.usefixtures("unfrozen")
@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
def test_an_async_engine_with_options_may_be_the_first(wrap, url, driver):
    """And be gone by the next connect, which is told as any other."""
    pytest.importorskip(driver, reason="the driver is not installed")
    seen = wrap()

    async def main():
        engine = create_async_engine(url(driver))
        await (await engine.execution_options(isolation_level="AUTOCOMMIT").connect()).close()
        gc.collect()
        seen.spans()
        async with engine.connect(), engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        await engine.dispose()

    asyncio.run(main())

    expected = ["CONNECT", "SELECT", "ROLLBACK"]
    assert scopes(seen.spans())[: len(expected)] == [("sqlalchemy", name) for name in expected]


def test_by_option_psycopg_connects(wrap, url):
    """Likewise once."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    seen = wrap("drivers")
    _select(sa.create_engine(url("psycopg")))

    assert [each for each in scopes(seen.spans()) if each[1] == "CONNECT"] == [("psycopg", "CONNECT")]


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
@pytest.mark.parametrize("by_drivers", [True, False])
def test_pings_have_no_span(wrap, url, driver, by_drivers):
    """Neither of SQLAlchemy nor of the driver, whichever tells the rest."""
    pytest.importorskip(driver, reason="the driver is not installed")
    options = "rows,no-transactions" + ",drivers" * by_drivers
    seen = wrap(options, **{f"{driver}_options": "no-transactions"})

    async def main():
        engine = create_async_engine(url(driver), pool_pre_ping=True)
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        seen.spans()
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        await engine.dispose()

    asyncio.run(main())

    assert scopes(seen.spans()) == [(driver if by_drivers else "sqlalchemy", "SELECT")]


def test_a_driver_that_is_off_is_told_by_sqlalchemy(wrap, run):
    """Whatever the option says."""
    seen = wrap("drivers", asyncpg="off")

    run(program)

    assert seen.names() == EXPECTED


@pytest.mark.parametrize("options", ["", "no-transactions"])
def test_what_is_executed_without_sqlalchemy_is_the_drivers(wrap, run, options):
    """Of the same connection, before and after statements of SQLAlchemy."""
    seen = wrap(options)

    async def main(engine):
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
            raw = await connection.get_raw_connection()
            await raw.driver_connection.fetch("SELECT 2")

    run(main)

    ends = [] if options else [("sqlalchemy", "ROLLBACK")]
    found = scopes(seen.spans())
    assert found == [("sqlalchemy", "CONNECT"), ("sqlalchemy", "SELECT"), ("asyncpg", "SELECT"), *ends]


def test_a_task_that_outlives_a_statement_is_not_silenced(wrap, run, database_url):
    """It copied the context in which the driver was called."""
    import asyncpg

    seen = wrap()
    tasks = []

    async def own(is_over):
        await is_over.wait()
        connection = await asyncpg.connect(database_url)
        await connection.fetch("SELECT 3")
        await connection.close()

    async def main(engine):
        is_over = asyncio.Event()

        @sa.event.listens_for(engine.sync_engine, "before_cursor_execute")
        def begin(*_args):
            tasks.append(asyncio.ensure_future(own(is_over)))

        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
            is_over.set()
            await asyncio.gather(*tasks)

    run(main)

    assert [each for each in scopes(seen.spans()) if each[0] == "asyncpg"] == [
        ("asyncpg", "CONNECT"),
        ("asyncpg", "SELECT"),
    ]


def test_rows_batches_and_streams_over_a_real_driver(wrap, run):
    """The driver knows the number of rows; a stream's later round trips are the driver's own."""
    seen = wrap("rows,no-transactions")

    async def main(engine):
        async with engine.begin() as connection:
            await connection.run_sync(METADATA.drop_all)
            await connection.run_sync(METADATA.create_all)
            seen.spans()
            await connection.execute(T.insert(), [{"v": str(number)} for number in range(100)])
            await connection.execute(sa.text("INSERT INTO t (v) VALUES (:v)"), [{"v": "a"}, {"v": "b"}])
            assert len((await connection.execute(sa.select(T).limit(7))).all()) == 7
            async with connection.stream(sa.select(T), execution_options={"yield_per": 50}) as result:
                assert len([row async for row in result]) == 102
        async with AsyncSession(engine) as session:
            assert (await session.get(Row, 1)).id == 1
        async with engine.begin() as connection:
            await connection.run_sync(METADATA.drop_all)

    run(main)

    spans = [span for span in seen.spans() if span.instrumentation_scope.name == "otel_fastpath.sqlalchemy"]
    assert [span.name for span in spans[:5]] == [
        "BATCH INSERT t",
        "BATCH INSERT t",
        "SELECT t",
        "SELECT t",
        "SELECT t",
    ]
    assert [span.attributes.get("db.operation.batch.size") for span in spans[:3]] == [100, 2, None]
    assert spans[2].attributes["db.response.returned_rows"] == 7
    assert spans[2].attributes["db.query.text"].endswith("LIMIT $1::INTEGER")


def test_the_attributes_name_the_server(wrap, run, url):
    """As the URL does."""
    seen = wrap("no-transactions")

    async def main(engine):
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))

    run(main)

    target = url("asyncpg")
    connect, select = seen.spans()
    expected = {
        "db.system.name": "postgresql",
        "db.namespace": target.database,
        "server.address": target.host,
        **({} if target.port in {None, 5432} else {"server.port": target.port}),
    }
    assert dict(connect.attributes) == {
        **expected,
        "db.query.summary": "CONNECT",
        "db.operation.name": "CONNECT",
    }
    assert dict(select.attributes) == {**expected, "db.query.summary": "SELECT", "db.query.text": "SELECT ?"}


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_a_comment_with_a_trace_state(wrap, url, driver):
    """A header of a request may bring one. The driver takes the percent signs of its encoding for no placeholders."""
    state = TraceState([("congo", "t61*")])
    parent = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=state))
    wrap("sqlcommenter")
    engine = sa.create_engine(url(driver))
    sent = sa.text("SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() AND '%' LIKE '%'")

    with trace.use_span(parent), engine.connect() as connection:
        texts = [
            connection.execute(sent).scalar(),
            connection.execution_options(no_parameters=True).execute(sent).scalar(),
        ]
        connection.execution_options(no_parameters=False)
        connection.execute(sa.text("CREATE TEMP TABLE t (id serial PRIMARY KEY, v text)"))
        connection.execute(T.insert(), {"v": "one"})
        connection.execute(T.insert(), [{"v": "two"}, {"v": "three"}])
        connection.execute(T.insert().returning(T.c.id), [{"v": "four"}, {"v": "five"}])
        connection.execute(sa.text("UPDATE t SET v = :v WHERE id = :id"), [{"v": "x", "id": 1}, {"v": "y", "id": 2}])
        assert connection.execute(sa.select(T.c.v).order_by(T.c.id)).scalars().all() == [
            "x",
            "y",
            "three",
            "four",
            "five",
        ]
    engine.dispose()

    for text in texts:
        assert text.endswith(",tracestate='congo%3Dt61%2A'*/")


def test_an_interrupt_while_parameters_are_read(wrap, engine):
    """The option reads them with their `repr`, which Ctrl-C may interrupt: nothing is left behind."""

    class Stops:
        def __repr__(self):
            raise KeyboardInterrupt

    seen = wrap("parameters,no-transactions")
    with engine.connect() as connection:
        with pytest.raises(KeyboardInterrupt):
            connection.execute(sa.text("SELECT :v"), {"v": Stops()})
        assert trace.get_current_span() is trace.INVALID_SPAN
        select_one(connection)

    assert [span.name for span in seen.spans()] == ["SELECT", "SELECT t"]
