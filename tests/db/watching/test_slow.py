"""The option `slow`: a query that took at least so long has its parameters, and no other has them."""

from __future__ import annotations

import asyncio
import sqlite3
import time

import pytest
from opentelemetry.trace import StatusCode

SLOW = "otel_fastpath.db.slow"
# No query is as quick, and none is as slow.
AT_ONCE, NEVER = "slow=1us", "slow=60m"


def parameters_of(span):
    """The parameters in a span's attributes, by their keys."""
    prefix = "db.query.parameter."
    return {key[len(prefix) :]: value for key, value in span.attributes.items() if key.startswith(prefix)}


def _sqlite3(_request):
    connection = sqlite3.connect(":memory:")
    connection.execute("SELECT ?, ?", (7, "text"))
    connection.close()


def _aiosqlite(_request):
    aiosqlite = pytest.importorskip("aiosqlite")

    async def main():
        async with aiosqlite.connect(":memory:") as connection:
            await connection.execute("SELECT ?, ?", (7, "text"))

    asyncio.run(main())


def _psycopg(request):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(request.getfixturevalue("database_url"), autocommit=True) as connection:
        connection.execute("SELECT %(a)s, %(b)s::text", {"a": 7, "b": "text"})


def _psycopg_async(request):
    psycopg = pytest.importorskip("psycopg")

    async def main():
        url = request.getfixturevalue("database_url")
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("SELECT %s, %s::text", [7, "text"])

    asyncio.run(main())


def _psycopg_pipeline(request):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(request.getfixturevalue("database_url"), autocommit=True) as connection, connection.pipeline():
        connection.execute("SELECT %s, %s::text", [7, "text"])


def _psycopg_stream(request):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(request.getfixturevalue("database_url"), autocommit=True) as connection:
        assert list(connection.cursor().stream("SELECT %s, %s::text", [7, "text"])) == [(7, "text")]


def _psycopg2(request):
    psycopg2 = pytest.importorskip("psycopg2")
    connection = psycopg2.connect(request.getfixturevalue("database_url"))
    connection.cursor().execute("SELECT %s, %s", (7, "text"))
    connection.close()


def _psycopg2_async(request):
    psycopg2 = pytest.importorskip("psycopg2")
    extras = pytest.importorskip("psycopg2.extras")
    connection = psycopg2.connect(request.getfixturevalue("database_url"), async_=True)
    extras.wait_select(connection)
    connection.cursor().execute("SELECT %s, %s", (7, "text"))
    extras.wait_select(connection)
    connection.close()


def _asyncpg(request):
    asyncpg = pytest.importorskip("asyncpg")

    async def main():
        connection = await asyncpg.connect(request.getfixturevalue("database_url"))
        await connection.fetch("SELECT $1::int, $2::text", 7, "text")
        await connection.close()

    asyncio.run(main())


def _asyncpg_statement(request):
    asyncpg = pytest.importorskip("asyncpg")

    async def main():
        connection = await asyncpg.connect(request.getfixturevalue("database_url"))
        statement = await connection.prepare("SELECT $1::int, $2::text")
        await statement.fetchrow(7, "text")
        await connection.close()

    asyncio.run(main())


def _sqlalchemy(driver):
    def main(request):
        sa = pytest.importorskip("sqlalchemy")
        url = "sqlite://"
        if driver:
            pytest.importorskip(driver)
            url = sa.make_url(request.getfixturevalue("database_url")).set(drivername=f"postgresql+{driver}")
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT CAST(:a AS int), CAST(:b AS text)"), {"a": 7, "b": "text"})
        engine.dispose()

    return main


def _sqlalchemy_async(request):
    sa = pytest.importorskip("sqlalchemy")
    pytest.importorskip("asyncpg")
    from sqlalchemy.ext.asyncio import create_async_engine

    async def main():
        engine = create_async_engine(
            sa.make_url(request.getfixturevalue("database_url")).set(drivername="postgresql+asyncpg")
        )
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT CAST(:a AS int), CAST(:b AS text)"), {"a": 7, "b": "text"})
        await engine.dispose()

    asyncio.run(main())


def _redis(request):
    redis = pytest.importorskip("redis")
    with redis.Redis(port=request.getfixturevalue("redis_server").port) as client:
        client.execute_command("RPUSH", "list", 7, "text")


def _redis_async(request):
    asynchronous = pytest.importorskip("redis.asyncio")

    async def main():
        async with asynchronous.Redis(port=request.getfixturevalue("redis_server").port) as client:
            await client.execute_command("RPUSH", "list", 7, "text")

    asyncio.run(main())


BY_POSITION, BY_NAME, OF_COMMAND = (
    {"0": "7", "1": "text"},
    {"a": "7", "b": "text"},
    {"0": "list", "1": "7", "2": "text"},
)
# Name -> the library that is wrapped, what executes a query, the name of its span, its parameters.
QUERIES = {
    "sqlite3": ("sqlite3", _sqlite3, "SELECT", BY_POSITION),
    "aiosqlite": ("sqlite3", _aiosqlite, "SELECT", BY_POSITION),
    "psycopg": ("psycopg", _psycopg, "SELECT", BY_NAME),
    "psycopg, async": ("psycopg", _psycopg_async, "SELECT", BY_POSITION),
    "psycopg, pipeline": ("psycopg", _psycopg_pipeline, "SELECT", BY_POSITION),
    "psycopg, stream": ("psycopg", _psycopg_stream, "SELECT", BY_POSITION),
    "psycopg2": ("psycopg2", _psycopg2, "SELECT", BY_POSITION),
    "psycopg2, async": ("psycopg2", _psycopg2_async, "SELECT", BY_POSITION),
    "asyncpg": ("asyncpg", _asyncpg, "SELECT", BY_POSITION),
    "asyncpg, statement": ("asyncpg", _asyncpg_statement, "SELECT", BY_POSITION),
    "sqlalchemy": ("sqlalchemy", _sqlalchemy(""), "SELECT", BY_POSITION),
    "sqlalchemy, psycopg": ("sqlalchemy", _sqlalchemy("psycopg"), "SELECT", BY_NAME),
    "sqlalchemy, async": ("sqlalchemy", _sqlalchemy_async, "SELECT", BY_POSITION),
    "redis": ("redis", _redis, "RPUSH", OF_COMMAND),
    "redis, async": ("redis", _redis_async, "RPUSH", OF_COMMAND),
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_slow_query_has_its_parameters(wrap_with, request, query):
    """In every library, under the keys of the conventions; and it says that it was slow."""
    library, execute, name, parameters = QUERIES[query]
    seen = wrap_with(**{library: AT_ONCE})

    execute(request)

    span = next(span for span in seen.spans() if span.name == name)
    assert (span.attributes[SLOW], parameters_of(span)) == (True, parameters)
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("query", QUERIES)
def test_a_quick_query_is_as_without_the_option(wrap_with, instrumentor, request, query):
    """The spans have the same names and attributes, in the same order."""
    library, execute, _, _ = QUERIES[query]
    found = []
    for options in ("", NEVER):
        seen = wrap_with(**{library: options})
        execute(request)
        found.append([(span.name, list(span.attributes.items())) for span in seen.spans()])
        instrumentor.uninstrument()

    assert len(found[0]) > 0
    assert found[0] == found[1]


@pytest.mark.parametrize("options", ["slow=100ms", "slow=0.1s,rows", ["parameters", "SLOW = 100MS"]])
def test_the_threshold_is_a_duration(wrap_with, options):
    """One that took longer is slow; one that took a fraction of it is not."""
    seen = wrap_with(sqlite3=options)
    connection = sqlite3.connect(":memory:")
    connection.create_function("nap", 1, time.sleep)

    connection.execute("SELECT nap(?)", (0.12,))

    assert seen.spans()[-1].attributes[SLOW] is True
    quickest = min(_seconds_of(connection, seen) for _ in range(20))
    assert quickest[1] is False, quickest
    connection.close()


def _seconds_of(connection, seen):
    """How long a query took that does nothing, and whether it was slow."""
    connection.execute("SELECT 1")
    span = seen.one()
    return span.end_time - span.start_time, SLOW in span.attributes


def test_an_error_is_slow_as_well(wrap_with):
    """A query that times out is the one whose parameters are wanted."""
    seen = wrap_with(sqlite3=AT_ONCE)
    connection = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT nothing WHERE 1 = ?", (7,))
    connection.close()

    span = seen.spans()[-1]
    assert (span.attributes[SLOW], parameters_of(span), span.status.status_code) == (True, {"0": "7"}, StatusCode.ERROR)


def test_a_batch_has_no_parameters(wrap_with):
    """The conventions have no attributes for several sets, and a transaction has none at all; both can be slow."""
    seen = wrap_with(sqlite3=AT_ONCE)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER)")
    seen.spans()
    connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    connection.commit()
    connection.close()

    found = seen.spans()
    assert [span.name for span in found] == ["BATCH INSERT t", "COMMIT"]
    assert found[0].attributes[SLOW] is True
    assert [parameters_of(span) for span in found] == [{}, {}]


def test_parameters_are_not_read_of_a_quick_query(wrap_with):
    """They are looked at afterwards: not even a length is asked for."""
    touched = []

    class Watched(tuple):
        __slots__ = ()

        def __iter__(self):
            touched.append("iter")
            return super().__iter__()

        def __repr__(self):
            touched.append("repr")
            return "Watched"

    seen = wrap_with(sqlite3=NEVER)
    connection = sqlite3.connect(":memory:")
    connection.execute("SELECT ?", Watched((1,)))
    connection.close()

    assert touched == []
    assert parameters_of(seen.spans()[-1]) == {}


def test_a_value_that_cannot_be_shown_harms_nobody(wrap_with):
    """The query runs; the value's type is told, and the other parameters are."""

    class Broken:
        def __conform__(self, _protocol):
            return "adapted"

        def __repr__(self):
            raise RuntimeError

        __str__ = __repr__

    seen = wrap_with(sqlite3=AT_ONCE)
    connection = sqlite3.connect(":memory:")
    row = connection.execute("SELECT ?, ?, ?", (Broken(), b"\xff\x00", "x" * 1_000_000)).fetchone()
    connection.close()

    assert row[0] == "adapted"
    assert parameters_of(seen.spans()[-1]) == {
        "0": f"<{__name__}.{Broken.__qualname__}>",
        "1": r"b'\xff\x00'",
        "2": "x" * 256,
    }


def test_redis_passwords_stay_secret(wrap_with, request):
    """As with the option `parameters`."""
    redis = pytest.importorskip("redis")
    seen = wrap_with(redis=AT_ONCE)
    with redis.Redis(port=request.getfixturevalue("redis_server").port) as client:
        client.config_set("masterauth", "hunter2")
        client.config_set("masterauth", "")
        with pytest.raises(redis.ResponseError):
            client.execute_command("CONFIG", "SET", "nonsense-hunter2", "hunter2")

    found = seen.spans()
    assert len(found) == 3
    assert all(SLOW in span.attributes for span in found)
    assert "hunter2" not in "".join(span.to_json() for span in found)


def test_it_works_in_the_place_of_stock(instrumentor, core, seen, request, no_faults):
    """With `same` telemetry: the names and attributes of the stock instrumentation, and what was asked for."""
    psycopg = pytest.importorskip("psycopg")
    module = pytest.importorskip("opentelemetry.instrumentation.psycopg")
    request.getfixturevalue("emulated")(pytest.importorskip("otel_fastpath.db.psycopg").LIBRARY)
    module.PsycopgInstrumentor._instance = None
    connect = vars(psycopg.Connection)["connect"]
    stock_instrumentor = module.PsycopgInstrumentor()
    instrumentor.instrument(core=core, psycopg_options=AT_ONCE)
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    try:
        _psycopg(request)
    finally:
        stock_instrumentor.uninstrument()
        module.PsycopgInstrumentor._instance = None
        psycopg.Connection.connect = connect

    span = seen.one()
    assert span.instrumentation_scope.name == "opentelemetry.instrumentation.psycopg"
    assert (span.attributes[SLOW], parameters_of(span)) == (True, BY_NAME)
    assert no_faults.counts() == {}
