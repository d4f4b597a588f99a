"""Every operation is seen, once: its span, its attributes, its duration."""

from __future__ import annotations

import asyncio

import pytest
import redis
from opentelemetry import context, trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.trace import SpanKind, StatusCode

DURATION = "db.client.operation.duration"


def test_a_command_has_the_stable_conventions_attributes(look_both, redis_server):
    """At its creation; the arguments are placeholders."""
    seen = look_both(lambda client: client.set("key", "value", ex=60), db=3)

    span = seen.one()
    assert (span.name, span.kind, span.status.status_code) == ("SET", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "db.system.name": "redis",
        "db.namespace": "3",
        "server.address": "127.0.0.1",
        "server.port": redis_server.port,
        "db.operation.name": "SET",
        "db.query.text": "SET ? ? ? ?",
    }
    assert span.instrumentation_scope.name == "otel_fastpath.redis"


def test_a_unix_socket_is_an_address(look_both, redis_server):
    """Without a port."""
    seen = look_both(lambda client: client.get("a"), unix_socket_path=redis_server.path)

    attributes = seen.one().attributes
    assert attributes["server.address"] == redis_server.path
    assert "server.port" not in attributes


def test_the_default_port_is_not_recorded(wrap):
    """As the conventions want it."""
    from otel_fastpath.db.redis.query_plans import server_of

    wrap()

    assert "server.port" not in server_of(redis.ConnectionPool(host="x")).attributes()
    assert server_of(redis.ConnectionPool.from_url("redis://:secret@x:7/2")).attributes() == {
        "db.system.name": "redis",
        "db.namespace": "2",
        "server.address": "x",
        "server.port": 7,
    }


def test_what_a_pool_does_not_say_is_not_recorded(wrap, redis_server):
    """The server of a Sentinel's service, and that of a pool of somebody's own."""
    from otel_fastpath.db.redis.query_plans import server_of

    wrap()
    sentinel = redis.Sentinel([("127.0.0.1", redis_server.port)])

    pools = [sentinel.master_for("mine", db=4).connection_pool, object()]

    assert [server_of(pool).attributes() for pool in pools] == [
        {"db.system.name": "redis", "db.namespace": "4"},
        {"db.system.name": "redis"},
    ]


METHODS = {
    "get": (lambda c: c.get("a"), "GET", "GET ?"),
    "ping": (lambda c: c.ping(), "PING", "PING"),
    "mset": (lambda c: c.mset({str(key): key for key in range(500)}), "MSET", f"MSET{' ?' * 16} ..."),
    "sixteen arguments": (lambda c: c.delete(*range(16)), "DEL", f"DEL{' ?' * 16}"),
    "lower case": (lambda c: c.execute_command("get", "a"), "get", "get ?"),
    "bytes": (lambda c: c.execute_command(b"GET", "a"), "GET", "GET ?"),
    "a whole command": (lambda c: c.execute_command("SET secret secret"), "SET", "SET ? ?"),
    "subcommand": (lambda c: c.client_getname(), "CLIENT GETNAME", "CLIENT GETNAME"),
    "subcommand apart": (lambda c: c.execute_command("CLIENT", "GETNAME"), "CLIENT", "CLIENT ?"),
    "eval": (lambda c: c.eval("return 'secret'", 0), "EVAL", "EVAL ? ?"),
    "publish": (lambda c: c.publish("channel", "message"), "PUBLISH", "PUBLISH ? ?"),
    "blocking": (lambda c: c.blpop(["nothing"], timeout=0.01), "BLPOP", "BLPOP ? ?"),
    "stream": (lambda c: c.xadd("stream", {"field": "value"}), "XADD", "XADD ? ? ? ?"),
}


@pytest.mark.proves("redis.command", "redis.async_command")
@pytest.mark.parametrize("method", METHODS)
def test_a_command_is_a_span(look_both, method):
    """One, named after the command."""
    call, name, text = METHODS[method]

    span = look_both(call).one()

    assert (span.name, span.attributes["db.operation.name"], span.attributes["db.query.text"]) == (name, name, text)


@pytest.mark.parametrize("given", [7, "", "\N{SNOWMAN}", "1", "-x", "G" * 100])
def test_what_is_no_name_is_not_recorded(look_both, given):
    """The span is named after the system."""

    def main(client):
        with pytest.raises((redis.RedisError, AttributeError, TypeError)):
            return client.execute_command(given, "secret")

    async def main_async(client):
        with pytest.raises((redis.RedisError, AttributeError, TypeError)):
            await client.execute_command(given, "secret")

    seen = look_both(lambda c: main_async(c) if hasattr(c, "aclose") else main(c))

    span = seen.one()
    assert span.name == "redis"
    assert {"db.operation.name", "db.query.text"}.isdisjoint(span.attributes)


@pytest.mark.parametrize("given", [(), ([],), ({},)])
def test_what_redis_py_refuses_has_no_span(look, given):
    """It says so itself."""

    def main(client):
        with pytest.raises((IndexError, TypeError, redis.DataError)):
            client.execute_command(*given)

    assert look(main).spans() == ()


def test_a_command_is_a_child_of_the_current_span(look, seen, monkeypatch):
    """And the current span itself while redis-py runs; then it is as before."""
    current = []
    send = redis.connection.AbstractConnection.send_command
    monkeypatch.setattr(
        redis.connection.AbstractConnection,
        "send_command",
        lambda *args, **kwargs: (current.append(trace.get_current_span()), send(*args, **kwargs))[1],
    )

    def main(client):
        client.ping()
        current.clear()
        seen.spans()
        with seen.tracer_provider.get_tracer("test").start_as_current_span("request"):
            client.get("a")
            assert trace.get_current_span().name == "request"

    command, request = look(main).spans()

    assert command.parent.span_id == request.context.span_id
    assert [span.get_span_context() for span in current] == [command.context]


def test_suppressed_there_is_nothing(look_both):
    """As with stock's instrumentations."""

    def main(client):
        with suppress_instrumentation():
            return client.get("a")

    async def main_async(client):
        with suppress_instrumentation():
            await client.get("a")

    assert look_both(lambda c: main_async(c) if hasattr(c, "aclose") else main(c)).spans() == ()


@pytest.mark.proves("redis.pubsub.*", "redis.async_pubsub.*")
def test_subscribing_is_a_span(look, look_async):
    """Messages are none: nothing says whose they are, and waiting for them may take forever."""

    def main(client):
        with client.pubsub() as pubsub:
            pubsub.subscribe("one", "two")
            client.publish("one", "message")
            while (message := pubsub.get_message(timeout=1)) and message["type"] != "message":
                pass
            pubsub.unsubscribe("one")

    async def main_async(client):
        async with client.pubsub() as pubsub:
            await pubsub.psubscribe("a*")
            await pubsub.get_message(timeout=1)

    assert look(main).names() == ["SUBSCRIBE", "PUBLISH", "UNSUBSCRIBE"]
    assert look_async(main_async).names() == ["PSUBSCRIBE"]


def _with_lock(client):
    with client.lock("mine", timeout=5) as lock:
        lock.extend(1)


async def _with_async_lock(client):
    async with client.lock("mine", timeout=5) as lock:
        await lock.extend(1)


def test_a_lock_has_no_false_errors(look_both):
    """The first `release` finds its script missing, and sends it: redis-py handles that, so nothing failed."""
    seen = look_both(lambda client: (_with_async_lock if hasattr(client, "aclose") else _with_lock)(client))

    spans = seen.spans()
    assert [span.name for span in spans] == ["SET", *["EVALSHA", "SCRIPT LOAD", "EVALSHA"] * 2]
    assert {span.status.status_code for span in spans} == {StatusCode.UNSET}
    assert [event for span in spans for event in span.events] == []
    assert {len(span.attributes["db.stored_procedure.name"]) for span in spans if span.name == "EVALSHA"} == {40}
    assert "error.type" not in {key for point in seen.metrics()[DURATION] for key in point.attributes}


def test_a_script_that_the_application_misses_is_an_error(look_both):
    """Nobody else handles it."""

    def main(client):
        with pytest.raises(redis.exceptions.NoScriptError):
            client.evalsha("0" * 40, 0)

    async def main_async(client):
        with pytest.raises(redis.exceptions.NoScriptError):
            await client.evalsha("0" * 40, 0)

    span = look_both(lambda c: main_async(c) if hasattr(c, "aclose") else main(c)).one()

    assert span.attributes["error.type"] == span.attributes["db.response.status_code"] == "NOSCRIPT"
    assert span.status.status_code is StatusCode.ERROR


def _of_databases(seen):
    return {name for name in seen.metrics() if name.startswith("db.")}


def test_durations_are_a_metric(look_both):
    """With the attributes of the command, but not its text."""
    seen = look_both(lambda client: client.get("a"))

    (point,) = seen.metrics()[DURATION]
    assert point.count == 1
    assert point.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
    assert set(point.attributes) == {
        *("db.system.name", "db.namespace", "server.address", "server.port", "db.operation.name"),
    }
    assert _of_databases(seen) == {DURATION}


def test_without_metrics_there_are_none(look_both):
    """The option."""
    seen = look_both(lambda client: client.get("a"), "no-metrics")

    assert _of_databases(seen) == set()
    assert seen.one().name == "GET"


def test_parameters_are_attributes_if_they_are_asked_for(look_both):
    """The option: the first of them, each cut to a length; those of a pipeline are not."""
    seen = look_both(lambda client: client.mset({"a": "x" * 1000, **dict.fromkeys(range(20), b"y")}), "parameters")

    found = {key: value for key, value in seen.one().attributes.items() if key.startswith("db.query.parameter.")}
    assert len(found) == 16
    assert found["db.query.parameter.0"] == "a"
    assert found["db.query.parameter.1"] == "x" * 256


def test_two_hundred_tasks_are_told_apart(wrap, run_async, seen):
    """Each command is a child of its own task's span, over one pool of connections."""
    wrap("no-metrics")
    tracer = seen.tracer_provider.get_tracer("test")

    async def task(client, number):
        with tracer.start_as_current_span(f"task {number}"):
            await client.set(f"key {number}", number)
            async with client.pipeline() as pipeline:
                await pipeline.get(f"key {number}").execute()

    async def main(client):
        await asyncio.gather(*(task(client, number) for number in range(200)))

    run_async(main, max_connections=500)

    spans = seen.spans()
    assert len(spans) == 600
    roots = {span.context.span_id: span for span in spans if span.parent is None}
    children = [span for span in spans if span.parent is not None]
    for name in ("SET", "MULTI GET"):
        assert {child.parent.span_id for child in children if child.name == name} == set(roots)
    assert context.get_current() == {}
