"""Clients of a cluster, of one node: their commands, pipelines and subscriptions."""

from __future__ import annotations

import asyncio

import pytest
import redis
import redis.asyncio

HAS_TRANSACTIONS = redis.VERSION >= (6, 2)


@pytest.fixture
def run_cluster(cluster_server):
    """Run a function with a client, which has asked for the slots before."""

    def call(function):
        with redis.RedisCluster(host="127.0.0.1", port=cluster_server.port) as client:
            client.flushall()
            return function(client)

    return call


@pytest.fixture
def run_async_cluster(cluster_server):
    """The same for an asynchronous client."""

    def call(function):
        async def main():
            client = redis.asyncio.RedisCluster(host="127.0.0.1", port=cluster_server.port)
            async with client:
                await client.flushall()
                return await function(client)

        return asyncio.run(main())

    return call


def _shown(span):
    return span.name, span.attributes["db.query.text"], span.attributes.get("db.operation.batch.size")


EXPECTED = [
    ("SET", "SET ? ?", None),
    ("GET", "GET ?", None),
    ("PIPELINE GET", "GET ?", 2),
    *([("MULTI", "SET ? ?\nGET ?", 2)] if HAS_TRANSACTIONS else []),
]


@pytest.mark.proves("redis.cluster.command", "redis.cluster_pipeline")
def test_commands_and_pipelines_are_seen(wrap, seen, run_cluster, cluster_server):
    """Once each; the address is that of a startup node."""
    wrap()

    def main(client):
        seen.spans()
        client.set("{a}", 1)
        client.get("{a}")
        client.pipeline().get("{a}").get("{a}").execute()
        if HAS_TRANSACTIONS:
            client.pipeline(transaction=True).set("{a}", 1).get("{a}").execute()
        client.pipeline().execute()

    run_cluster(main)

    spans = seen.spans()
    assert [_shown(span) for span in spans] == EXPECTED
    assert {span.attributes["server.port"] for span in spans} == {cluster_server.port}
    assert {span.attributes["db.namespace"] for span in spans} == {"0"}
    (*points,) = seen.metrics()["db.client.operation.duration"]
    assert {"PIPELINE GET", "SET"} <= {point.attributes["db.operation.name"] for point in points}


@pytest.mark.proves("redis.async_cluster.command", "redis.async_cluster_pipeline")
def test_asynchronous_ones_too(wrap, seen, run_async_cluster, cluster_server):
    """Likewise."""
    wrap()

    async def main(client):
        seen.spans()
        await client.set("{a}", 1)
        await client.get("{a}")
        await client.pipeline().get("{a}").get("{a}").execute()
        if HAS_TRANSACTIONS:
            await client.pipeline(transaction=True).set("{a}", 1).get("{a}").execute()
        await client.pipeline().execute()

    run_async_cluster(main)

    spans = seen.spans()
    assert [_shown(span) for span in spans] == EXPECTED
    assert {span.attributes["server.port"] for span in spans} == {cluster_server.port}


@pytest.mark.proves("redis.cluster_pubsub.command")
def test_subscribing_to_a_cluster_is_a_span(wrap, seen, run_cluster):
    """The node is chosen by the channel."""
    wrap()

    def main(client):
        pubsub = client.pubsub()
        seen.spans()
        pubsub.subscribe("channel")
        pubsub.get_message(timeout=1)
        pubsub.close()

    run_cluster(main)

    assert "SUBSCRIBE" in seen.names()


def test_errors_of_a_cluster_quote_nothing(wrap, seen, run_cluster):
    """redis-py's own exceptions have the arguments of the command."""
    wrap()

    def main(client):
        with pytest.raises(redis.exceptions.RedisClusterException, match="Command"):
            client.execute_command("SET")
        with pytest.raises(redis.RedisError):
            client.lpush("{a}", {"hidden": 1})
        with pytest.raises(redis.RedisError):
            client.pipeline().set("{a}", "hidden").lpush("{a}", "hidden").execute()

    run_cluster(main)

    spans = seen.spans()
    assert [span.status.status_code.name for span in spans[-3:]] == ["ERROR"] * 3
    assert "hidden" not in "".join(span.to_json() for span in spans)
