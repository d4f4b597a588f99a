"""The option `repeats`: a server span tells which query was repeated most below it, and how often."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sqlite3
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags

from otel_fastpath.db.repeats import RepeatedQueries

COUNT, SUMMARY = "otel_fastpath.db.repeated.count", "otel_fastpath.db.repeated.summary"
SERVER = {"kind": SpanKind.SERVER}
REMOTE = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1)))


@pytest.fixture
def connection():
    """A connection that is made once sqlite3 is wrapped: `connection()`."""
    made = []

    def connect():
        made.append(sqlite3.connect(":memory:", check_same_thread=False))
        return made[-1]

    yield connect
    for each in made:
        each.close()


def repeated(spans):
    """Name of a span -> how often a query was repeated below it, and its summary; only where that is told."""
    return {
        span.name: (span.attributes[COUNT], span.attributes[SUMMARY])
        for span in spans
        if COUNT in span.attributes or SUMMARY in span.attributes
    }


def query(connection, times, text="SELECT ?"):
    """Execute a query so many times."""
    for number in range(times):
        connection.execute(text, (number,))


def test_the_server_span_tells_the_most_frequent_query(wrap_with, tracer, connection):
    """And no other span does, though the queries are children of spans below it."""
    seen = wrap_with(sqlite3="repeats=3")
    database = connection()
    with tracer.start_as_current_span("request", **SERVER):
        query(database, 4, "SELECT ? FROM sqlite_master")
        with tracer.start_as_current_span("render"), tracer.start_as_current_span("part"):
            query(database, 5, "SELECT ?")
            query(database, 2, "SELECT ? FROM sqlite_master")
            query(database, 2, "SELECT ?, 2")

    assert repeated(seen.spans()) == {"request": (7, "SELECT")}


@pytest.mark.parametrize("disabled", ["exceptions", "exceptions,tracer.*,span.*"])
@pytest.mark.parametrize("times", [9, 10, 11])
def test_there_are_ten_of_a_query_that_is_told(wrap_with, tracer, connection, times, disabled):
    """Unless another number was given; also where the spans are stock's own."""
    seen = wrap_with(disabled=disabled, sqlite3="repeats")
    database = connection()
    with tracer.start_as_current_span("request", **SERVER):
        query(database, times)

    assert repeated(seen.spans()) == ({} if times < 10 else {"request": (times, "SELECT")})


def test_without_the_option_no_span_is_touched(wrap_with, tracer, connection, seen):
    """And the tracer provider has no processor of ours."""
    before = seen.tracer_provider._active_span_processor._span_processors
    wrap_with(sqlite3="slow=1m")
    database = connection()
    with tracer.start_as_current_span("request", **SERVER) as span:
        query(database, 20)

    assert repeated(seen.spans()) == {}
    assert seen.tracer_provider._active_span_processor._span_processors is before
    assert [name for name in vars(span) if "repeats" in name] == []


def test_the_nearest_server_or_consumer_counts(wrap_with, tracer, connection):
    """Each has counts of its own."""
    seen = wrap_with(sqlite3="repeats=2")
    database = connection()
    with tracer.start_as_current_span("outer", **SERVER):
        query(database, 2)
        with tracer.start_as_current_span("inner", **SERVER), tracer.start_as_current_span("part"):
            query(database, 4)
            with tracer.start_as_current_span("message", kind=SpanKind.CONSUMER):
                query(database, 3)
        query(database, 1)

    assert repeated(seen.spans()) == {"outer": (3, "SELECT"), "inner": (4, "SELECT"), "message": (3, "SELECT")}


@pytest.mark.parametrize("parent", [None, REMOTE], ids=["root", "remote"])
def test_without_a_server_the_local_root_counts(wrap_with, tracer, connection, parent):
    """A job, or a span of this process below one of another."""
    seen = wrap_with(sqlite3="repeats=2")
    database = connection()
    above = None if parent is None else trace.set_span_in_context(parent)
    with tracer.start_as_current_span("job", above), tracer.start_as_current_span("step"):
        query(database, 3)

    assert repeated(seen.spans()) == {"job": (3, "SELECT")}


def test_queries_without_a_parent_are_not_counted(wrap_with, connection):
    """Each is a request of its own."""
    seen = wrap_with(sqlite3="repeats=2")
    query(connection(), 5)

    assert repeated(seen.spans()) == {}


def test_transactions_and_batches(wrap_with, tracer, connection):
    """What begins or ends a transaction is not counted; a batch is one query."""
    seen = wrap_with(sqlite3="repeats=2")
    database = connection()
    database.execute("CREATE TABLE t (id INTEGER)")
    with tracer.start_as_current_span("request", **SERVER):
        for _ in range(3):
            database.execute("BEGIN")
            database.commit()
    with tracer.start_as_current_span("batches", **SERVER):
        for _ in range(3):
            database.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])

    assert repeated(seen.spans()) == {"batches": (3, "BATCH INSERT t")}


def test_spans_from_before_count(wrap_with, tracer, connection):
    """A request that was running when the library was wrapped."""
    with tracer.start_as_current_span("request", **SERVER):
        seen = wrap_with(sqlite3="repeats=2")
        database = connection()
        query(database, 2)
        with tracer.start_as_current_span("part"):
            query(database, 2)

    assert repeated(seen.spans()) == {"request": (4, "SELECT")}


def test_a_provider_that_is_set_later_counts(instrumentor, core, seen, connection, monkeypatch):
    """The global one, from the first query on."""
    instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", sqlite3_options="repeats=2")
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", seen.tracer_provider)
    database = connection()
    for name in ("first", "second"):
        with trace.get_tracer("application").start_as_current_span(name, **SERVER):
            query(database, 3)

    assert repeated(seen.spans()) == {"first": (3, "SELECT"), "second": (3, "SELECT")}


def test_a_request_that_is_not_sampled_is_not_counted(wrap_with, connection, no_faults):
    """Nor does it cost anything."""
    wrap_with(sqlite3="repeats=2")
    database = connection()
    provider = TracerProvider(sampler=ALWAYS_OFF)
    with provider.get_tracer("application").start_as_current_span("request", **SERVER) as span:
        query(database, 5)

    assert not span.is_recording()
    assert no_faults.counts() == {}


def test_a_span_that_has_ended_is_left_alone(wrap_with, tracer, connection, caplog):
    """Tasks in the background may outlive their request."""
    seen = wrap_with(sqlite3="repeats=2")
    database = connection()
    request = tracer.start_span("request", **SERVER)
    token = context.attach(trace.set_span_in_context(request))
    query(database, 3)
    request.end()
    query(database, 3)
    context.detach(token)

    assert repeated(seen.spans()) == {"request": (3, "SELECT")}
    assert caplog.messages == []


def test_two_libraries_count_together(wrap_with, tracer, connection, redis_server):
    """The server span tells the most frequent of all."""
    redis = pytest.importorskip("redis")
    seen = wrap_with(sqlite3="repeats=2", redis="repeats=3")
    database = connection()
    with redis.Redis(port=redis_server.port) as client, tracer.start_as_current_span("request", **SERVER):
        query(database, 4)
        for _ in range(5):
            client.get("missing")
        query(database, 2, "SELECT ? FROM sqlite_master")

    assert repeated(seen.spans()) == {"request": (5, "GET")}


def test_a_driver_below_sqlalchemy_is_counted_once(wrap_with, tracer):
    """As there is one span."""
    sa = pytest.importorskip("sqlalchemy")
    seen = wrap_with(sqlite3="repeats=2", sqlalchemy="repeats=2")
    engine = sa.create_engine("sqlite://")
    with tracer.start_as_current_span("request", **SERVER), engine.connect() as connection:
        for number in range(6):
            connection.execute(sa.text("SELECT :a"), {"a": number})
    engine.dispose()

    assert repeated(seen.spans()) == {"request": (6, "SELECT")}


TASKS, TIMES = 8, 25


def test_tasks_of_asyncpg_count_together(wrap_with, tracer, database_url):
    """Each uses a connection of a pool."""
    asyncpg = pytest.importorskip("asyncpg")
    seen = wrap_with(asyncpg="repeats")

    async def task(pool):
        with tracer.start_as_current_span("part"):
            for number in range(TIMES):
                await pool.fetchval("SELECT $1::int", number)

    async def main():
        async with asyncpg.create_pool(database_url, min_size=1, max_size=4) as pool:
            with tracer.start_as_current_span("request", **SERVER):
                await asyncio.gather(*(task(pool) for _ in range(TASKS)))

    asyncio.run(main())

    assert repeated(seen.spans()) == {"request": (TASKS * TIMES, "SELECT")}


def test_tasks_of_an_async_engine_count_together(wrap_with, tracer, database_url):
    """SQLAlchemy over asyncpg; connects, and the checks of the pool, are not counted."""
    sa = pytest.importorskip("sqlalchemy")
    pytest.importorskip("asyncpg")
    from sqlalchemy.ext.asyncio import create_async_engine

    seen = wrap_with(asyncpg="repeats", sqlalchemy="repeats")

    async def task(engine):
        async with engine.connect() as connection:
            for number in range(TIMES):
                await connection.execute(sa.text("SELECT CAST(:a AS int)"), {"a": number})

    async def main():
        engine = create_async_engine(sa.make_url(database_url).set(drivername="postgresql+asyncpg"), pool_pre_ping=True)
        with tracer.start_as_current_span("request", **SERVER):
            await asyncio.gather(*(task(engine) for _ in range(4)))
        await engine.dispose()

    asyncio.run(main())

    assert repeated(seen.spans()) == {"request": (4 * TIMES, "SELECT")}


def test_threads_of_psycopg_count_together(wrap_with, tracer, database_url):
    """Those to which the context of the request is given."""
    psycopg = pytest.importorskip("psycopg")
    seen = wrap_with(psycopg="repeats")

    def work(_number):
        with psycopg.connect(database_url, autocommit=True) as connection:
            for number in range(TIMES):
                connection.execute("SELECT %s", (number,))

    with tracer.start_as_current_span("request", **SERVER), ThreadPoolExecutor(TASKS) as pool:
        contexts = [contextvars.copy_context() for _ in range(TASKS)]
        list(pool.map(lambda copy: copy.run(work, 0), contexts))

    assert repeated(seen.spans()) == {"request": (TASKS * TIMES, "SELECT")}


def test_round_trips_of_a_cursor_are_no_repetitions(wrap_with, tracer, database_url):
    """They are parts of one query; asyncpg's and psycopg's own preparations are none either."""
    psycopg = pytest.importorskip("psycopg")
    seen = wrap_with(psycopg="repeats=2")
    with psycopg.connect(database_url) as connection, tracer.start_as_current_span("request", **SERVER):
        with connection.cursor("mine") as cursor:
            cursor.execute("SELECT generate_series(1, 50)")
            for _ in range(5):
                cursor.fetchmany(10)
        connection.commit()

    assert len(seen.spans()) > 5
    assert repeated(seen.spans()) == {}


def test_the_number_of_summaries_is_bounded(tracer):
    """A service may make a table for each request; the first 200 summaries are counted on."""
    span = tracer.start_span("request", **SERVER)
    counts = RepeatedQueries(span)
    for number in range(10_000):
        counts.add(f"SELECT t{number}", 2)
    for _ in range(4):
        counts.add("SELECT t199", 2)
        counts.add("SELECT t200", 2)

    assert len(counts._counts) == 200
    assert (span.attributes[COUNT], span.attributes[SUMMARY]) == (5, "SELECT t199")


def test_a_span_that_never_ends_is_freed(wrap_with, tracer, connection):
    """As soon as nobody refers to it, without the garbage collector."""
    wrap_with(sqlite3="repeats=2")
    database = connection()
    query(database, 1)
    gc.collect()
    gc.disable()
    try:
        found = []
        for _ in range(20):
            span = tracer.start_span("request", **SERVER)
            token = context.attach(trace.set_span_in_context(span))
            query(database, 3)
            context.detach(token)
            found.append(weakref.ref(span))
            del span, token
        assert [each() for each in found[:-1]] == [None] * 19
    finally:
        gc.enable()


def test_threads_set_the_highest_number_last(tracer):
    """However they take turns."""
    span = tracer.start_span("request", **SERVER)
    counts = RepeatedQueries(span)
    begin = threading.Barrier(TASKS)

    def work():
        begin.wait()
        for _ in range(500):
            counts.add("SELECT", 10)

    threads = [threading.Thread(target=work) for _ in range(TASKS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert span.attributes[COUNT] == TASKS * 500


def test_uninstrumenting_removes_the_processor(wrap_with, instrumentor, tracer, connection, seen):
    """Those of the application stay, also one that was added meanwhile, and nothing is counted further."""
    several = seen.tracer_provider._active_span_processor
    before = several._span_processors
    wrap_with(sqlite3="repeats=2", psycopg="repeats=2")
    assert len(several._span_processors) == len(before) + 1
    added = SynchronousMultiSpanProcessor()
    seen.tracer_provider.add_span_processor(added)
    database = connection()
    instrumentor.uninstrument()

    assert several._span_processors == (*before, added)
    with tracer.start_as_current_span("request", **SERVER):
        query(database, 5)
    assert [span.name for span in seen.spans()][-1] == "request"


def test_a_second_set_up_counts_as_the_first(wrap_with, instrumentor, tracer, connection):
    """The processor is added again, once."""
    for _ in range(2):
        seen = wrap_with(sqlite3="repeats=2")
        with tracer.start_as_current_span("request", **SERVER):
            query(connection(), 3)
        assert repeated(seen.spans()) == {"request": (3, "SELECT")}
        instrumentor.uninstrument()


def test_a_span_that_refuses_attributes_is_no_error(wrap_with, connection, no_faults):
    """A span of somebody's own as the parent."""

    class Own(NonRecordingSpan):
        def is_recording(self):
            return True

    wrap_with(sqlite3="repeats=2")
    database = connection()
    token = context.attach(trace.set_span_in_context(Own(REMOTE.get_span_context())))
    query(database, 3)
    context.detach(token)
    assert no_faults.counts() == {}
