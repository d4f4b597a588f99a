"""Connections and clients that several users have in turn."""

from __future__ import annotations

import asyncio
import importlib
import json
import sqlite3
from contextlib import contextmanager, suppress

from madeup import CHAT, RESPONSE, chunk, http


def _queries(cursor, user, mark="?"):
    """What a user asks a database."""
    cursor.execute("SELECT 1")
    cursor.execute(f"SELECT {mark}", (user,))
    cursor.execute(f"SELECT '{user}'")


@contextmanager
def _sqlite3(_server):
    connection = sqlite3.connect(":memory:")
    cursor = connection.cursor()
    yield lambda user: _queries(cursor, user)
    connection.close()


@contextmanager
def _psycopg2(server):
    psycopg2 = importlib.import_module("psycopg2")
    connection = psycopg2.connect(server)
    cursor = connection.cursor()
    yield lambda user: _queries(cursor, user, "%s")
    connection.close()


@contextmanager
def _psycopg(server):
    psycopg = importlib.import_module("psycopg")
    connection = psycopg.connect(server)
    cursor = connection.cursor()
    yield lambda user: _queries(cursor, user, "%s")
    connection.close()


@contextmanager
def _running(connect, calls):
    """Calls of an asynchronous library, and its connection."""
    with asyncio.Runner() as runner:
        connection = runner.run(connect())
        yield lambda user: runner.run(calls(connection, user))
        runner.run(connection.close())


def _psycopg_async(server):
    psycopg = importlib.import_module("psycopg")

    async def queries(connection, user):
        cursor = connection.cursor()
        await cursor.execute("SELECT 1")
        await cursor.execute("SELECT %s", (user,))
        await cursor.execute(f"SELECT '{user}'")

    return _running(lambda: psycopg.AsyncConnection.connect(server), queries)


def _asyncpg(server):
    asyncpg = importlib.import_module("asyncpg")

    async def queries(connection, user):
        await connection.fetchrow("SELECT 1")
        await connection.fetch("SELECT $1::text", user)
        await connection.execute(f"SELECT '{user}'")
        statement = await connection.prepare("SELECT $1::text")
        await statement.fetchval(user)

    return _running(lambda: asyncpg.connect(server), queries)


@contextmanager
def _pymysql(server):
    pymysql = importlib.import_module("pymysql")
    connection = pymysql.connect(host="127.0.0.1", port=server.port, user="root", database="test")
    cursor = connection.cursor()

    def queries(user):
        _queries(cursor, user, "%s")
        cursor.executemany("SELECT %s", [(user,), (1,)])

    yield queries
    connection.close()


@contextmanager
def _sqlalchemy(_server):
    sqlalchemy = importlib.import_module("sqlalchemy")
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.QueuePool)
    connection = engine.connect()

    def queries(user):
        connection.exec_driver_sql("SELECT 1")
        connection.execute(sqlalchemy.text("SELECT :user"), {"user": user})
        connection.exec_driver_sql(f"SELECT '{user}'")

    yield queries
    connection.close()
    engine.dispose()


def _commands(client, user):
    return (client.get("text"), client.set(user, "a"), client.pipeline().get("text").get(user).execute())


@contextmanager
def _redis(server):
    redis = importlib.import_module("redis")
    with redis.Redis(port=server.port) as client:
        yield lambda user: _commands(client, user)


@contextmanager
def _redis_async(server):
    redis = importlib.import_module("redis")

    async def commands(client, user):
        for each in _commands(client, user):
            await each

    with asyncio.Runner() as runner:
        client = redis.asyncio.Redis(port=server.port)
        yield lambda user: runner.run(commands(client, user))
        runner.run(client.aclose())


@contextmanager
def _cassandra(server):
    cluster = importlib.import_module("cassandra.cluster")
    connected = cluster.Cluster(["127.0.0.1"], port=server.ports[0], protocol_version=4)
    session = connected.connect("shop", wait_for_all_pools=True)

    def statements(user):
        session.execute("SELECT a FROM t")
        session.execute(f"SELECT '{user}'")

    yield statements
    connected.shutdown()


CHUNKS = [chunk("a"), chunk(None, "stop"), chunk(usage=CHAT["usage"])]
EMBEDDING = {
    "object": "list",
    "model": "e",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}
WRONG = "none"
ANSWERS = {"/v1/chat/completions": CHAT, "/v1/embeddings": EMBEDDING, "/v1/responses": RESPONSE}


def _answered(request):
    """The answer to a request; its model is the one that was asked for."""
    asked = json.loads(request.content)
    if asked["model"] == WRONG:
        return http.Response(400, json={"error": {"message": "no such model"}})
    body = {**ANSWERS[request.url.path], "model": f"{asked['model']}-1"}
    if not asked.get("stream"):
        return http.Response(200, json=body)
    lines = [b"data: " + json.dumps({**each, "model": body["model"]}).encode() + b"\n\n" for each in CHUNKS]
    content = b"".join([*lines, b"data: [DONE]\n\n"])
    return http.Response(200, content=content, headers={"content-type": "text/event-stream"})


def _asked(user):
    return {"model": user, "messages": [{"role": "user", "content": f"I am {user}."}]}


def _settings(user, client):
    """A client of one user, or of all."""
    return {"api_key": user, "organization": user, "base_url": "http://localhost:9/v1", "http_client": client}


@contextmanager
def _openai(_server):
    openai = importlib.import_module("openai")
    client = openai.OpenAI(**_settings("all", http.Client(transport=http.MockTransport(_answered))))

    def calls(user):
        for each in (client, client.with_options(api_key=user, organization=user)):
            each.chat.completions.create(**_asked(user))
            list(each.chat.completions.create(**_asked(user), stream=True))
        client.embeddings.create(model=user, input="a", encoding_format="float")
        client.responses.create(model=user, input=user)
        with suppress(openai.BadRequestError):
            client.chat.completions.create(**_asked(WRONG))
        with suppress(openai.BadRequestError):
            client.embeddings.create(model=WRONG, input=user)

    yield calls
    client.close()


@contextmanager
def _openai_async(_server):
    openai = importlib.import_module("openai")

    async def calls(client, user):
        await client.chat.completions.create(**_asked(user))
        async for _ in await client.chat.completions.create(**_asked(user), stream=True):
            pass
        await client.responses.create(model=user, input=user)

    with asyncio.Runner() as runner:
        transport = http.MockTransport(_answered)
        client = openai.AsyncOpenAI(**_settings("all", http.AsyncClient(transport=transport)))
        yield lambda user: runner.run(calls(client, user))
        runner.run(client.close())


# The folder of the wrapper, stock's instrumentor, its arguments, the fixture of the server, and the calls.
HOSTS = {
    "sqlite3": ("sqlite3", "sqlite3:SQLite3Instrumentor", {}, None, _sqlite3),
    "psycopg2": ("psycopg2", "psycopg2:Psycopg2Instrumentor", {}, "database_url", _psycopg2),
    "psycopg": ("psycopg", "psycopg:PsycopgInstrumentor", {"capture_parameters": True}, "database_url", _psycopg),
    "psycopg, async": ("psycopg", "psycopg:PsycopgInstrumentor", {}, "database_url", _psycopg_async),
    "asyncpg": ("asyncpg", "asyncpg:AsyncPGInstrumentor", {}, "database_url", _asyncpg),
    "PyMySQL": ("pymysql", "pymysql:PyMySQLInstrumentor", {}, "mariadb", _pymysql),
    "SQLAlchemy": ("sqlalchemy", "sqlalchemy:SQLAlchemyInstrumentor", {}, None, _sqlalchemy),
    "redis": ("redis", "redis:RedisInstrumentor", {}, "redis_server", _redis),
    "redis, async": ("redis", "redis:RedisInstrumentor", {}, "redis_server", _redis_async),
    "OpenAI": ("openai", "genai.openai:OpenAIInstrumentor", {}, None, _openai),
    "OpenAI, async": ("openai", "genai.openai:OpenAIInstrumentor", {}, None, _openai_async),
    "Cassandra": (
        "cassandra",
        "cassandra:CassandraInstrumentor",
        {"include_db_statement": True},
        "cassandra",
        _cassandra,
    ),
}
