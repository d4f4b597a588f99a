"""redis-py does what every wrapper of a database library does."""

from __future__ import annotations

import asyncio

import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
from contracts.databases import Errors, Outcome, Takeover, Transparency, wait
from opentelemetry import context
from sabotage import as_ours, broken, plain

from otel_fastpath.db import database
from otel_fastpath.db.redis import commands, hooks, observability, query_plans
from otel_fastpath.wrapping import call as calls


def _commands(client):
    client.delete("b")
    client.set("a", 1)
    return client.get("a"), client.execute_command(b"STRLEN", "a"), client.mget(["a", "b"])


def lose_a_race(client):
    """A transaction whose watched key changes."""
    with client.pipeline() as pipeline:
        pipeline.watch("a")
        found = pipeline.get("a")
        client.set("a", 3)
        pipeline.multi()
        pipeline.set("a", 3)
        with pytest.raises(redis.WatchError):
            pipeline.execute()
    return found


def _pipelines(client):
    return [
        client.pipeline().set("a", 2).get("a").execute(),
        client.pipeline(transaction=False).get("a").execute(),
        lose_a_race(client),
    ]


def _errors(client):
    found = []
    for call in (
        lambda: client.lpush("text", 1),
        client.execute_command,
        lambda: client.set("a", {}),
        lambda: client.pipeline().lpush("text", 1).execute(),
        lambda: client.evalsha("0" * 40, 0),
        lambda: client.execute_command("AUTH", "x", "y", "z"),
    ):
        try:
            call()
        except Exception as error:  # noqa: PERF203  # each of them
            found.append(type(error).__name__)
    return found


def _others(client):
    with client.lock("mine", timeout=5):
        found = [client.eval("return 7", 0)]
    with client.pubsub() as pubsub:
        pubsub.subscribe("channel")
        found.append(pubsub.get_message(timeout=5)["type"])
    return found


async def _asynchronous(port):
    """What the asynchronous twins give."""
    before = context.get_current()
    async with redis.asyncio.Redis(port=port) as client:
        await client.set("a", 1)
        assert await client.get("a") == b"1"
        assert await client.pipeline().set("a", 2).get("a").execute() == [True, b"2"]
        with pytest.raises(redis.ResponseError):
            await client.lpush("text", 1)
        async with client.lock("mine", timeout=5):
            assert context.get_current() is before
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.blpop(["nothing"], 60), 0.02)
        async with client.pubsub() as pubsub:
            await pubsub.subscribe("channel")
        assert context.get_current() is before


async def _ask(client):
    assert await wait(client.get("text")) == b"a"


def _pipeline(client):
    return client.pipeline().get("text").execute()


def _each_method(client):
    assert client.get("text") == b"a"
    assert client.pipeline().get("text").execute() == [b"a"]


OWN_METRICS = (observability, "has_durations")


class TestContract(Errors, Outcome, Takeover, Transparency):
    """redis-py, on a real server."""

    query = staticmethod(_ask)
    entries = {
        "commands": (_commands, (b"1", 1, [b"1", None])),
        "pipelines": (_pipelines, [[True, b"2"], [b"2"], b"2"]),
        "errors": (
            _errors,
            ["ResponseError", "IndexError", "DataError", "ResponseError", "NoScriptError", "ResponseError"],
        ),
        "others": (_others, [7, "subscribe"]),
    }
    asked = [lambda c: c.get("text"), _pipeline]
    options = "parameters,slow=1us,repeats=2"

    errors = {
        "wrong type": (lambda c: c.lpush("text", 1), redis.ResponseError, "WRONGTYPE"),
        "wrong number": (lambda c: c.execute_command("GET"), redis.ResponseError, "ERR"),
        "unknown": (lambda c: c.execute_command("NONSENSE", "hidden"), redis.ResponseError, "ERR"),
        "not a number": (lambda c: c.incr("text"), redis.ResponseError, "ERR"),
        "script": (
            lambda c: c.eval("return redis.error_reply('MINE went wrong')", 0),
            *(redis.ResponseError, "MINE"),
        ),
        "argument": (lambda c: c.set("a", {"hidden": 1}), redis.DataError, "redis.exceptions.DataError"),
    }
    without_event = {"unknown"}
    read = ("commands", "pipelines")
    reader = (commands, "read")

    def check_error(self, name, span):  # noqa: ARG002  # of each
        """A message that quotes arguments is not recorded."""
        assert "hidden" not in span.to_json()

    own = {
        "new connection plan": (database.Database, "new_connection_plan"),
        "read": (commands, "read"),
        "plan": (query_plans.Plans, "of_command"),
        "batch": (query_plans.Plans, "of_batch"),
        "key": (query_plans.StableRedisConventions, "key_of"),
        "server": (query_plans, "_address_of"),
        "commands": (hooks, "_commands"),
        "request": (hooks, "_request"),
        "handled": (hooks, "_is_handled"),
        "secret": (commands, "is_secret"),
        "series": (calls.CallDurations, "record_failed"),
        "code": (query_plans, "_is_redis"),
        "attributes": (hooks, "shorten"),
    }
    raising = [
        (redis.Redis, "execute_command", lambda c: c.get("a")),
        (redis.client.Pipeline, "execute", _pipeline),
    ]

    @pytest.fixture
    def program(self, run, redis_server):
        """Each entry once, and the asynchronous twins."""

        async def main(client):
            await self.ask_everything(client)
            client.script_flush()

        def call():
            before = context.get_current()
            run(main)
            asyncio.run(_asynchronous(redis_server.port))
            assert context.get_current() is before

        return call

    def test_a_fault_beside_redis_pys_metrics_is_counted_only(self, everything, no_faults, monkeypatch):
        """Which are asked for when ours is set up."""
        monkeypatch.setattr(*OWN_METRICS, as_ours(broken))

        everything(**plain())

        assert no_faults.counts()

    # Those of errors are in the list of differences.
    ignored = {"error.type", "db.response.status_code"}
    names = {"SET", "get a", "b'GET'", "redis", "SET GET", "GET GET GET", "redis.search", "redis.create_index"}
    stood_back = (lambda c: c.pipeline().get("a").get("b").execute(), ["GET GET"])
    violation = (lambda c: c.lpush("text", 1), redis.ResponseError, "WRONGTYPE", "WRONGTYPE")

    opt_ins = ("", "database", "database/dup", "http", "database,http")

    @pytest.fixture
    def both_runs(self, run, run_async, redis_server):
        """Run the program with both kinds of clients, over a socket and with another database, too."""

        def call():
            run(self.program_of_both)
            run(self.program_of_both, db=2)
            run(self.program_of_both, host=None, unix_socket_path=redis_server.path)
            run_async(self.async_program_of_both)

        return call

    @staticmethod
    def program_of_both(client):
        """What both see alike."""
        client.set("a", 1, ex=60)
        client.mset({str(key): key for key in range(600)})
        client.config_get("save")
        client.execute_command("get a")
        client.execute_command(b"GET", "a")
        client.pipeline().execute()
        client.pipeline().set("a", 1).get("a").execute()
        client.pipeline(transaction=False).get("a").get("b").get("c").execute()
        client.pipeline(transaction=False).get("a").execute_command("client getname").execute()
        lose_a_race(client)
        for name in ("FT.SEARCH", "FT.CREATE"):
            with pytest.raises(redis.ResponseError):
                client.execute_command(name, "index", "query", "SCHEMA", "field", "TEXT")
        with client.pubsub() as pubsub:
            pubsub.subscribe("channel")

    @staticmethod
    async def async_program_of_both(client):
        """The same with an asynchronous client."""
        await client.set("a", 1)
        await client.mget("a", "b")
        await client.pipeline().execute()
        async with client.pipeline() as pipeline:
            await pipeline.set("a", 1).get("a").execute()
        with pytest.raises(redis.ResponseError):
            await client.execute_command("FT.CREATE", "index", "SCHEMA", "field", "TEXT")

    def events_of(self, span):
        """Where no message quotes arguments."""
        return None if span.name in {"redis.search", "redis.create_index"} else super().events_of(span)

    def check_added(self, spans):
        """Pipelines have their own names, and a subscription has a span."""
        names = {span.name for span in spans}
        assert {"get", "MULTI", "PIPELINE GET", "PIPELINE", "MULTI SET", "SUBSCRIBE"} <= names
        assert not {name for name in names if "GET GET" in name or "SET GET" in name}

    owners = (
        *(redis.Redis, redis.client.Pipeline, redis.client.PubSub, redis.RedisCluster, redis.cluster.ClusterPipeline),
        *(redis.cluster.ClusterPubSub, redis.asyncio.Redis, redis.asyncio.client.Pipeline),
        *(redis.asyncio.client.PubSub, redis.asyncio.RedisCluster, redis.asyncio.cluster.ClusterPipeline),
    )
    replaced = range(13, 14)
    on_top = ((redis.Redis, "execute_command"), (redis.client.Pipeline, "execute"))
    topped = staticmethod(_each_method)
