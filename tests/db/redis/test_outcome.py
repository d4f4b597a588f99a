"""Whatever telemetry raises around a call of redis-py: the outcome is redis-py's, and the context as before."""

from __future__ import annotations

import asyncio
import logging

import pytest
import redis
import redis.asyncio
from opentelemetry import context
from sabotage import ABSORBED, FOREIGN, RAISED, Odd, Sabotage, as_ours, broken, broken_logging, plain, raising_once

from otel_fastpath.db import database
from otel_fastpath.db.redis import commands, hooks, observability, plans
from otel_fastpath.wrapping import call as calls


def _commands(client):
    client.set("a", 1)
    return client.get("a"), client.execute_command(b"STRLEN", "a"), client.mget(["a", "b"])


def _pipelines(client):
    found = [client.pipeline().set("a", 2).get("a").execute(), client.pipeline(transaction=False).get("a").execute()]
    with client.pipeline() as pipeline:
        pipeline.watch("a")
        found.append(pipeline.get("a"))
        client.set("a", 3)
        pipeline.multi()
        pipeline.get("a")
        try:
            pipeline.execute()
        except redis.WatchError as error:
            found.append(type(error).__name__)
    return found


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


# What is done -> what it gives.
ENTRIES = {
    "commands": (_commands, (b"1", 1, [b"1", None])),
    "pipelines": (_pipelines, [[True, b"2"], [b"2"], b"2", "WatchError"]),
    "errors": (
        _errors,
        ["ResponseError", "IndexError", "DataError", "ResponseError", "NoScriptError", "ResponseError"],
    ),
    "others": (_others, [7, "subscribe"]),
}
# The place of a function of ours that every entry or some of them come through.
OWN = {
    "new link": (database.Database, "new_link"),
    "read": (commands, "read"),
    "plan": (plans.Plans, "of_command"),
    "batch": (plans.Plans, "of_batch"),
    "key": (plans.StableRedisConventions, "key_of"),
    "server": (plans, "_address_of"),
    "commands": (hooks, "_commands"),
    "request": (hooks, "_request"),
    "handled": (hooks, "_is_handled"),
    "secret": (commands, "is_secret"),
    "series": (calls.CallDurations, "record_failed"),
    "code": (plans, "_is_redis"),
    "attributes": (hooks, "shortened"),
    "own metrics": (observability, "has_durations"),
}


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


@pytest.fixture
def everything(instrumentor, core, redis_server):
    """`everything(**providers)`: each entry once; what came of it must be redis-py's own."""

    def main():
        before = context.get_current()
        with redis.Redis(port=redis_server.port) as client:
            for name, (entry, expected) in ENTRIES.items():
                assert (name, entry(client)) == (name, expected)
                assert context.get_current() is before, name
            client.script_flush()
        asyncio.run(_asynchronous(redis_server.port))
        assert context.get_current() is before

    def run(sabotage=lambda: None, **providers):
        settings = {"telemetry": "full", "disabled": "exceptions", "redis_options": "parameters,slow=1us,repeats=2"}
        instrumentor.instrument(core=core, **settings, **providers)
        sabotage()
        token = context.attach(context.set_value("mine", 1))
        try:
            with broken_logging():
                main()
        finally:
            context.detach(token)

    return run


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(everything, saboteur, caplog):
    """Whichever part of the set-up raises, and our log besides."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")

    everything(**FOREIGN[saboteur]())

    assert [line for line in caplog.messages if "detach" in line] == []


@pytest.mark.parametrize("saboteur", RAISED)
def test_an_error_of_the_set_up_is_raised(instrumentor, core, redis_server, saboteur):
    """The error of a processor, sampler or id generator is the application's to see, and the next query works."""
    with redis.Redis(port=redis_server.port) as client:
        client.ping()
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
        with raising_once():
            client.set("a", 1)
        with raising_once():
            client.pipeline().set("a", 2).get("a").execute()
        instrumentor.uninstrument()
        client.set("a", 3)
        assert client.get("a") == b"3"


@pytest.mark.parametrize("place", [name for name in OWN if name != "own metrics"])
def test_a_fault_of_ours_is_counted_only(everything, no_faults, monkeypatch, place):
    """In whichever function of the wrapper."""
    everything(lambda: monkeypatch.setattr(*OWN[place], as_ours(broken)), **plain())

    assert no_faults.counts()


def test_a_fault_beside_redis_pys_metrics_is_counted_only(everything, no_faults, monkeypatch):
    """Which are asked for when ours is set up."""
    monkeypatch.setattr(*OWN["own metrics"], as_ours(broken))

    everything(**plain())

    assert no_faults.counts()


@pytest.mark.parametrize("error", [Odd(), Sabotage(), KeyboardInterrupt(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("what", ["command", "pipeline"])
def test_an_exception_is_the_very_same(wrap, monkeypatch, run, what, error):
    """Whatever redis-py raises, also what cannot be made a text."""

    def execute(*_args, **_options):
        raise error

    monkeypatch.setattr(redis.Redis, "execute_command", execute)
    monkeypatch.setattr(redis.client.Pipeline, "execute", execute)
    wrap()
    before = context.get_current()

    def main(client):
        with pytest.raises(type(error)) as raised:
            client.get("a") if what == "command" else client.pipeline().get("a").execute()
        assert raised.value is error

    run(main)

    assert context.get_current() is before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", ["on_start", "on_end"])
def test_who_asks_to_stop_is_heard(wrap, monkeypatch, run, seen, stop, at):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""
    wrap()

    def interrupted(*_args, **_kwargs):
        raise stop

    def main(client):
        before = context.get_current()
        with monkeypatch.context() as patched:
            patched.setattr(seen.tracer_provider._active_span_processor._span_processors[0], at, interrupted)
            with pytest.raises(stop):
                client.get("a")
        assert context.get_current() is before
        assert client.get("text") == b"a"

    run(main)
