"""Arguments that no library takes, and objects whose methods raise: the library's own errors, and no fault of ours."""

from __future__ import annotations

import asyncio
import functools
import importlib
import sqlite3
import sys
from pathlib import Path

import httpx
import pytest
import redis
import requests
import urllib3
from combinations import crossed
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from opentelemetry.sdk.trace import TracerProvider

sys.path.append(str(Path(__file__).parents[1] / "genai" / "openai"))


def _raises(*_args, **_kwargs):
    raise LookupError("odd")


DUNDERS = ("str", "repr", "eq", "hash", "bool", "len", "iter", "getattr", "contains", "format", "index", "int", "float")
Odd = type("Odd", (), {f"__{name}__": _raises for name in DUNDERS})
Liar = type("Liar", (), {"__class__": property(lambda _self: str), "__eq__": lambda *_: True, "__hash__": lambda _: 1})
OddText = type("OddText", (str,), {"__hash__": _raises, "__eq__": _raises, "__str__": _raises, "__len__": _raises})
OddDict = type("OddDict", (dict,), {"items": _raises, "__iter__": _raises, "keys": _raises, "__len__": _raises})
OddList = type("OddList", (list,), {"__iter__": _raises, "__len__": _raises})
VALUES = {
    "odd": Odd,
    "text": lambda: OddText("SELECT 1"),
    "dict": lambda: OddDict(a=1),
    "list": lambda: OddList([1]),
    "None": lambda: None,
    "number": lambda: 3,
    "bytes": lambda: b"\xff\\N{",
    "a surrogate": lambda: "SELECT '\ud83d'",
    "null": lambda: "SELECT 1\0",
    "in a list": lambda: [Odd()],
    "in a dict": lambda: {"a": Odd()},
    "a long text": lambda: "x" * 100_000,
    "a URL": lambda: "http://x:y/",
    "a bracket": lambda: "http://[/",
    "a port": lambda: "http://h:99999/",
    "no URL": lambda: "http:///\\N{",
    "a liar": Liar,
    "a huge number": lambda: 10**5000,
    "a megabyte": lambda: "SELECT '" + "x" * (1 << 20) + "'",
}


def _sqlite3(use):
    def run(value):
        connection = sqlite3.connect(":memory:")
        try:
            use(connection, value)
        finally:
            connection.close()

    return run


class _Adapter(requests.adapters.BaseAdapter):
    """Sends nothing."""

    def send(self, request, **_settings):
        response = requests.Response()
        response.status_code, response.url, response.request = 200, request.url, request
        return response

    def close(self):
        pass


def _requests(*args, **keywords):
    with requests.Session() as session:
        session.mount("http://", _Adapter())
        session.request(*args, **keywords)


def _httpx(*args, **keywords):
    with httpx.Client(transport=httpx.MockTransport(lambda _request: httpx.Response(200))) as client:
        client.request(*args, **keywords)


def _urllib3(*args, **keywords):
    with urllib3.HTTPConnectionPool("127.0.0.1", 1, retries=False, timeout=0.1) as pool:
        pool.urlopen(*args, **keywords)


def _redis(*args, **keywords):
    with redis.Redis(port=1, socket_connect_timeout=0.1, retry=None) as client:
        client.execute_command(*args, **keywords)


USES = {
    "sqlite3 execute": _sqlite3(lambda connection, value: connection.execute(value)),
    "sqlite3 parameters": _sqlite3(lambda connection, value: connection.execute("SELECT ?", value)),
    "sqlite3 a parameter": _sqlite3(lambda connection, value: connection.execute("SELECT ?", (value,))),
    "sqlite3 executemany": _sqlite3(
        lambda connection, value: connection.executemany("INSERT INTO t VALUES (?)", value)
    ),
    "sqlite3 executescript": _sqlite3(lambda connection, value: connection.executescript(value)),
    "sqlite3 cursor": _sqlite3(lambda connection, value: connection.cursor().execute(value, value)),
    "sqlite3 connect": lambda value: sqlite3.connect(value, uri=True).close() if isinstance(value, int) else None,
    "requests method": lambda value: _requests(value, "http://h/"),
    "requests URL": lambda value: _requests("GET", value),
    "requests headers": lambda value: _requests("GET", "http://h/", headers=value),
    "requests a header": lambda value: _requests("GET", "http://h/", headers={"a": value}),
    "httpx method": lambda value: _httpx(value, "http://h/"),
    "httpx URL": lambda value: _httpx("GET", value),
    "httpx headers": lambda value: _httpx("GET", "http://h/", headers=value),
    "httpx a header": lambda value: _httpx("GET", "http://h/", headers={"a": value}),
    "urllib3 method": lambda value: _urllib3(value, "/"),
    "urllib3 URL": lambda value: _urllib3("GET", value),
    "urllib3 headers": lambda value: _urllib3("GET", "/", headers=value),
    "urllib3 body": lambda value: _urllib3("GET", "/", body=value),
    "redis command": _redis,
    "redis argument": lambda value: _redis("GET", value),
    "redis several": lambda value: _redis("MGET", *[value] * 3),
}


def _rows(value):
    """The value; of a text only its beginning, as a driver sends a query for each character."""
    return value[:9] if type(value) is str else value


def _queries(cursor_of, mark, **more):
    """How the cursors of a driver are used; each has a connection that commits by itself."""

    def run(use):
        def called(value):
            connection = cursor_of()
            try:
                use(connection.cursor(), value)
            finally:
                connection.close()

        return called

    return {
        "execute": run(lambda cursor, value: cursor.execute(value)),
        "parameters": run(lambda cursor, value: cursor.execute(f"SELECT {mark}", value)),
        "a parameter": run(lambda cursor, value: cursor.execute(f"SELECT {mark}", (value,))),
        "executemany": run(lambda cursor, value: cursor.executemany(f"SELECT {mark}", _rows(value))),
        **{name: run(use) for name, use in more.items()},
    }


def _psycopg(server):
    psycopg = importlib.import_module("psycopg")
    return _queries(lambda: psycopg.connect(server, autocommit=True), "%s")


def _psycopg2(server):
    psycopg2 = importlib.import_module("psycopg2")

    def connect():
        connection = psycopg2.connect(server)
        connection.autocommit = True
        return connection

    return _queries(connect, "%s", callproc=lambda cursor, value: cursor.callproc(value))


def _pymysql(server):
    pymysql = importlib.import_module("pymysql")
    given = {"host": "127.0.0.1", "port": server.port, "user": "root", "autocommit": True}
    return _queries(lambda: pymysql.connect(**given), "%s", callproc=lambda cursor, value: cursor.callproc(value))


def _asyncpg(server):
    asyncpg = importlib.import_module("asyncpg")

    def run(use):
        async def called(value):
            connection = await asyncpg.connect(server)
            try:
                await use(connection, value)
            finally:
                await connection.close()

        return lambda value: asyncio.run(called(value))

    return {
        "execute": run(lambda connection, value: connection.execute(value)),
        "fetch": run(lambda connection, value: connection.fetch(value)),
        "a parameter": run(lambda connection, value: connection.fetchrow("SELECT $1::text", value)),
        "executemany": run(lambda connection, value: connection.executemany("SELECT $1::text", _rows(value))),
        "prepare": run(lambda connection, value: connection.prepare(value)),
    }


def _sqlalchemy(_server):
    sqlalchemy = importlib.import_module("sqlalchemy")

    def run(use):
        def called(value):
            engine = sqlalchemy.create_engine("sqlite://")
            try:
                with engine.connect() as connection:
                    use(connection, value)
            finally:
                engine.dispose()

        return called

    return {
        "execute": run(lambda connection, value: connection.execute(value)),
        "driver's": run(lambda connection, value: connection.exec_driver_sql(value)),
        "text": run(lambda connection, value: connection.execute(sqlalchemy.text(value))),
        "parameters": run(lambda connection, value: connection.execute(sqlalchemy.text("SELECT :a"), value)),
        "a parameter": run(lambda connection, value: connection.execute(sqlalchemy.text("SELECT :a"), {"a": value})),
    }


def _aiohttp(_server):
    aiohttp = importlib.import_module("aiohttp")

    def run(use):
        async def called(value):
            async with aiohttp.ClientSession() as session:
                await use(session, value)

        return lambda value: asyncio.run(called(value))

    closed = "http://127.0.0.1:1/"
    return {
        "method": run(lambda session, value: session.request(value, closed)),
        "URL": run(lambda session, value: session.get(value)),
        "headers": run(lambda session, value: session.get(closed, headers=value)),
        "a header": run(lambda session, value: session.get(closed, headers={"a": value})),
        "parameters": run(lambda session, value: session.get(closed, params=value)),
    }


def _openai(_server):
    openai = importlib.import_module("openai")
    madeup = importlib.import_module("madeup")
    transport = madeup.http.MockTransport(madeup.answer([madeup.CHAT], []))
    given = {"api_key": "k", "base_url": "http://localhost:9/v1", "max_retries": 0}

    def chat(**arguments):
        with openai.OpenAI(**given, http_client=madeup.http.Client(transport=transport)) as client:
            client.chat.completions.create(**{"model": "m", "messages": [], **arguments})

    return {
        "model": lambda value: chat(model=value),
        "messages": lambda value: chat(messages=value),
        "a message": lambda value: chat(messages=[{"role": "user", "content": value}]),
        "temperature": lambda value: chat(temperature=value),
        "stop": lambda value: chat(stop=value),
        "more": lambda value: chat(extra_body=value),
    }


def _cassandra(server):
    cluster = importlib.import_module("cassandra.cluster")

    def run(use):
        def called(value):
            connected = cluster.Cluster(["127.0.0.1"], port=server.ports[0], protocol_version=4)
            try:
                use(connected.connect("shop", wait_for_all_pools=True), value)
            finally:
                connected.shutdown()

        return called

    return {
        "execute": run(lambda session, value: session.execute(value)),
        "parameters": run(lambda session, value: session.execute("SELECT %s", value)),
        "a parameter": run(lambda session, value: session.execute("SELECT %s", (value,))),
    }


# The libraries with their uses, the fixture of their server, and stock's instrumentor.
LIBRARIES = {
    "psycopg": (_psycopg, "database_url", "psycopg:PsycopgInstrumentor"),
    "psycopg2": (_psycopg2, "database_url", "psycopg2:Psycopg2Instrumentor"),
    "asyncpg": (_asyncpg, "database_url", "asyncpg:AsyncPGInstrumentor"),
    "pymysql": (_pymysql, "mariadb", "pymysql:PyMySQLInstrumentor"),
    "sqlalchemy": (_sqlalchemy, None, "sqlalchemy:SQLAlchemyInstrumentor"),
    "cassandra": (_cassandra, "cassandra_nodes", "cassandra:CassandraInstrumentor"),
    "aiohttp": (_aiohttp, None, "aiohttp_client:AioHttpClientInstrumentor"),
    "openai": (_openai, None, "genai.openai:OpenAIInstrumentor"),
}


@pytest.fixture
def cassandra_nodes(simulacron):
    """A cluster that answers each query with nothing."""
    made = simulacron.cluster(1)
    yield made
    made.stop()


def _outcome(use, make):
    try:
        use(make())
    except Exception as error:
        return type(error).__name__
    return ""


@pytest.fixture
def instrumented_clients():
    """The instrumentations of the clients."""
    made = (RequestsInstrumentor(), HTTPXClientInstrumentor(), URLLib3Instrumentor())
    provider = TracerProvider(shutdown_on_exit=False)
    for each in made:
        each.instrument(tracer_provider=provider)
    yield provider
    for each in made:
        each.uninstrument()


def _compared(uses, begin, no_faults):
    """What is logged as our fault, and where the outcome is another one than without ours.

    Args:
        uses: The uses of a library.
        begin: Begins to instrument with ours.
        no_faults: The counts of our faults.
    """
    stock = {(use, value): _outcome(uses[use], VALUES[value]) for use in uses for value in VALUES}
    begin()
    faulty, unlike = [], []
    for case, expected in stock.items():
        found = _outcome(uses[case[0]], VALUES[case[1]])
        if no_faults.counts():
            faulty.append((case, no_faults.counts()))
            no_faults.forget()
        if found not in {expected, ""}:
            unlike.append((case, expected, found))
    return faulty, unlike


@pytest.mark.filterwarnings("ignore")
def test_no_argument_is_a_fault(instrumented_clients, instrumentor, core, no_faults):
    """The errors are those of the library or stock's instrumentation, but where that raises and ours does not."""
    options = {"sqlite3_options": "parameters", "redis_options": "parameters"}
    given = {"tracer_provider": instrumented_clients, "sqlite3": "on", "redis": "on", **options}

    found = _compared(USES, lambda: instrumentor.instrument(core=core, telemetry="full", **given), no_faults)

    assert found == ([], [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("telemetry", "library"), crossed(["full", "same"], list(LIBRARIES)))
def test_no_argument_of_a_library_is_a_fault(request, instrumentor, core, no_faults, library, telemetry):
    """Likewise, for libraries with a server or with more than one, beside stock's instrumentation of the same calls."""
    uses, server, place = LIBRARIES[library]
    module, _, name = place.partition(":")
    pytest.importorskip(library)
    stock = getattr(pytest.importorskip(f"opentelemetry.instrumentation.{module}"), name)()
    made = uses(None if server is None else request.getfixturevalue(server))
    provider = TracerProvider(shutdown_on_exit=False)
    stock.instrument(tracer_provider=provider)
    begin = functools.partial(instrumentor.instrument, core=core, telemetry=telemetry, tracer_provider=provider)

    try:
        faulty, unlike = _compared(made, begin, no_faults)
    finally:
        stock.uninstrument()
    instrumentor.uninstrument()

    # Stock's may hide by an error of its own what comes of it without any instrumentation.
    unlike = [row for row in unlike if row[2] != _outcome(made[row[0][0]], VALUES[row[0][1]])]
    assert (faulty, unlike) == ([], [])
