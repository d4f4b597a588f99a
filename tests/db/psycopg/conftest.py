"""A real PostgreSQL, and psycopg as an application has it: wrapped by us, with both cores in turn."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect

import pytest
from contracts.databases import by_hand

# It has no binary for some platforms.
collect_ignore_glob = [] if importlib.util.find_spec("psycopg_binary") else ["test_*.py"]


@pytest.fixture
def run(database_url):
    """Run a function with a connection."""
    import psycopg

    def call(function, *, autocommit=True, **settings):
        with psycopg.connect(database_url, autocommit=autocommit, **settings) as connection:
            return by_hand(function(connection))

    return call


@pytest.fixture
def run_async(database_url):
    """Run a function with an asynchronous connection, and await what it returns."""
    import psycopg

    def call(function, *, autocommit=True, **settings):
        async def main():
            connection = await psycopg.AsyncConnection.connect(database_url, autocommit=autocommit, **settings)
            async with connection:
                result = function(connection)
                return await result if inspect.isawaitable(result) else result

        return asyncio.run(main())

    return call


@pytest.fixture(params=["sync", "async"])
def run_both(request):
    """Each of the two in turn: the function calls one method, and returns what that returns."""
    return request.getfixturevalue("run" if request.param == "sync" else "run_async")


ROWS = "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 10) i"


@pytest.fixture
def table(database_url):
    """A table `t` of ten rows."""
    import psycopg

    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        connection.execute(ROWS)
        yield
        connection.execute("DROP TABLE t")


@pytest.fixture
def prepared(table):
    """`look` has the table."""
    return table


@pytest.fixture
def stock_instrumentor(stock_instrumentor):
    """Stock's does not put back what it found in the classes."""
    import psycopg

    owners = (psycopg, psycopg.Connection, psycopg.AsyncConnection)
    before = [vars(owner)["connect"] for owner in owners]
    yield stock_instrumentor
    if stock_instrumentor.is_instrumented_by_opentelemetry:
        stock_instrumentor.uninstrument()
    for owner, connect in zip(owners, before, strict=True):
        owner.connect = connect
