"""`python -m counting.libraries [DATABASE_URL]`: exceptions of other people's libraries, which do odd things to them.

Prints, as JSON, for each scenario what was counted, or why it was not run.
"""

from __future__ import annotations

# ruff: noqa: D103, SIM105  # odd code is what this is about
import asyncio
import contextlib
import json
import sys
import warnings
from typing import Any

from counting.scenario import count

URL = sys.argv[1] if __name__ == "__main__" and len(sys.argv) > 1 else ""
# A port of loopback where nobody listens.
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
# Scenario -> what makes it, and type name -> how many exceptions of it Python code sees.
LIBRARIES: dict[str, tuple[Any, dict[str, int]]] = {}


def library(raised):
    """A scenario: gives the function to count, after whatever must be made ready."""

    def declare(function):
        LIBRARIES[function.__name__] = (function, raised)
        return function

    return declare


@contextlib.contextmanager
def loop_running():
    loop = asyncio.new_event_loop()
    yield loop.run_until_complete
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


@library({"DivisionByZeroError": 1})
def asyncpg_query():
    import asyncpg

    async def fail(connection):
        try:
            await connection.fetchval("select 1/0")
        except asyncpg.DivisionByZeroError:
            pass

    with loop_running() as run:
        connection = run(asyncpg.connect(URL))
        yield lambda: run(fail(connection))
        run(connection.close())


@library({"UniqueViolationError": 1})
def asyncpg_transaction():
    import asyncpg

    async def fail(connection):
        await connection.execute("create temporary table t (id int primary key); insert into t values (1)")
        try:
            async with connection.transaction():
                await connection.executemany("insert into t values ($1)", [(2,), (1,)])
        except asyncpg.UniqueViolationError:
            pass
        await connection.execute("drop table t")

    with loop_running() as run:
        connection = run(asyncpg.connect(URL))
        yield lambda: run(fail(connection))
        run(connection.close())


@library({"DivisionByZero": 1})
def psycopg_query():
    import psycopg

    def fail():
        try:
            connection.execute("select 1/0")
        except psycopg.Error:
            connection.rollback()

    with psycopg.connect(URL) as connection:
        yield fail


@library({"UniqueViolation": 1})
def psycopg_executemany():
    import psycopg

    def fail():
        connection.execute("create temporary table t (id int primary key)")
        try:
            with connection.transaction():
                connection.cursor().executemany("insert into t values (%s)", [(1,), (1,)])
        except psycopg.Error:
            connection.rollback()

    with psycopg.connect(URL) as connection:
        yield fail


# The marked exception is one; by traceback it was two.
@library({"OperationalError": 1})
def psycopg_connect():
    import psycopg

    def fail():
        try:
            psycopg.connect(NOWHERE, connect_timeout=2)
        except psycopg.OperationalError:
            pass

    yield fail


@library({"UniqueViolation": 1, "IntegrityError": 1})
def sqlalchemy_integrity():
    import sqlalchemy

    engine = sqlalchemy.create_engine(URL.replace("postgresql:", "postgresql+psycopg:"))

    def fail():
        try:
            connection.execute(sqlalchemy.text("insert into t values (1)"))
        except sqlalchemy.exc.IntegrityError:
            connection.rollback()

    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("create temporary table t (id int primary key)"))
        connection.execute(sqlalchemy.text("insert into t values (1)"))
        connection.commit()
        yield fail
    engine.dispose()


@library({"DivisionByZeroError": 1, "AsyncAdapt_asyncpg_dbapi.Error": 1, "DBAPIError": 1})
def sqlalchemy_asyncpg():
    import sqlalchemy
    from sqlalchemy.ext.asyncio import create_async_engine

    async def fail():
        try:
            async with engine.connect() as connection:
                await connection.execute(sqlalchemy.text("select 1/0"))
        except sqlalchemy.exc.DBAPIError:
            pass

    with loop_running() as run:
        engine = create_async_engine(URL.replace("postgresql:", "postgresql+asyncpg:"))
        yield lambda: run(fail())
        run(engine.dispose())


def fastapi_request(path, handlers=()):
    import fastapi
    import httpx

    app = fastapi.FastAPI()

    @app.get("/http")
    def http():
        raise fastapi.HTTPException(404)

    @app.get("/http-async")
    async def http_async():
        raise fastapi.HTTPException(404)

    @app.get("/bug")
    async def bug():
        raise ValueError("bug")

    @app.get("/number/{number}")
    async def number(number: int):
        return number

    for kind in handlers:
        app.add_exception_handler(kind, lambda _request, _error: fastapi.Response(status_code=418))

    async def get():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            await client.get(path)

    with loop_running() as run:
        yield lambda: run(get())


@library({"HTTPException": 1})
def fastapi_http_exception():
    yield from fastapi_request("/http")


@library({"HTTPException": 1})
def fastapi_http_exception_async():
    yield from fastapi_request("/http-async")


@library({"ValueError": 1})
def fastapi_bug():
    yield from fastapi_request("/bug")


@library({"ValueError": 1})
def fastapi_exception_handler():
    yield from fastapi_request("/bug", handlers=[ValueError])


@library({"RequestValidationError": 1})
def fastapi_validation():
    yield from fastapi_request("/number/x")


@library({"ValidationError": 1})
def pydantic_validation():
    import pydantic

    class Model(pydantic.BaseModel):
        number: int

    def fail():
        try:
            Model(number="x")
        except pydantic.ValidationError:
            pass

    yield fail


@library({"httpx.ConnectError": 1, "httpcore.ConnectError": 1})
def httpx_connect():
    import httpx

    def fail():
        try:
            client.get("http://127.0.0.1:1")
        except httpx.ConnectError:
            pass

    with httpx.Client(trust_env=False) as client:
        yield fail


@library({"HttpParserInvalidMethodError": 1})
def httptools_parse():
    import httptools

    def fail():
        try:
            httptools.HttpRequestParser(object()).feed_data(b"\0")
        except httptools.HttpParserError:
            pass

    yield fail


def main() -> None:
    """Run them."""
    found = {}
    for name, (function, _) in LIBRARIES.items():
        try:
            # Twice: the first time is for imports and caches.
            for _ in range(2):
                generator = function()
                run = next(generator)
                found[name] = count(run)[0]
                next(generator, None)
        except ImportError as error:
            found[name] = str(error)
        except Exception as error:  # said in the result
            found[name] = f"{type(error).__name__}: {error}"
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
