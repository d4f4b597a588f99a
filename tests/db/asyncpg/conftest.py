"""A real PostgreSQL, and asyncpg as an application has it: wrapped by us, with both cores in turn."""

from __future__ import annotations

import asyncio
import inspect

import asyncpg
import pytest


@pytest.fixture
def run(database_url):
    """Run a coroutine function with a connection."""

    def call(function, **settings):
        async def main():
            connection = await asyncpg.connect(database_url, **settings)
            try:
                result = function(connection)
                return await result if inspect.isawaitable(result) else result
            finally:
                if not connection.is_closed():
                    await connection.close()

        return asyncio.run(main())

    return call


@pytest.fixture
def look(wrap, run):
    """Run a coroutine function with a connection and a table `t` of ten rows, once wrapped; gives what was seen."""

    def call(function, options="", **settings):
        seen = wrap(options)

        async def main(connection):
            await connection.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")
            await connection.execute("INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 10) i")
            seen.spans()
            await function(connection)

        run(main, **settings)
        return seen

    return call


@pytest.fixture
def look_both(look):
    """There is one kind of connections."""
    return look


@pytest.fixture
def stock_instrumentor(in_its_place, stock_instrumentor):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Only where ours takes its place."""
    return stock_instrumentor
