"""A real redis server, and redis-py as an application has it: wrapped by us, with both cores in turn."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import time

import pytest
from contracts.databases import by_hand

collect_ignore_glob = [] if importlib.util.find_spec("redis") else ["test_*.py"]


@pytest.fixture(autouse=True)
def empty(redis_server):
    """Nothing is on the server, not even a script, before each test."""
    import redis

    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        client.script_flush()
        client.set("text", "a")


@pytest.fixture
def run(redis_server):
    """Run a function with a client."""
    import redis

    def call(function, **settings):
        with redis.Redis(**{"host": "127.0.0.1", "port": redis_server.port, **settings}) as client:
            return by_hand(function(client))

    return call


@pytest.fixture
def run_async(redis_server):
    """Run a function with an asynchronous client, and await what it returns."""
    import redis.asyncio

    def call(function, **settings):
        async def main():
            given = {"host": "127.0.0.1", "port": redis_server.port, **settings}
            async with redis.asyncio.Redis(**given) as client:
                result = function(client)
                return await result if inspect.isawaitable(result) else result

        return asyncio.run(main())

    return call


@pytest.fixture(params=["sync", "async"])
def run_both(request):
    """Each of the two in turn: the function calls one method, and returns what that returns."""
    return request.getfixturevalue("run" if request.param == "sync" else "run_async")


@pytest.fixture(scope="session")
def cluster_server(start_redis):
    """A cluster of one node."""
    import redis

    server = start_redis("--cluster-enabled", "yes")
    with redis.Redis(port=server.port) as client:
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            time.sleep(0.05)
    return server
