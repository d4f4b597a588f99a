"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each command."""

from __future__ import annotations

import logging

import pytest
import redis
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.trace import StatusCode

SCOPE = "opentelemetry.instrumentation.redis"


@pytest.fixture(autouse=True)
def _emulated(emulated):
    from otel_fastpath.db.redis import LIBRARY

    emulated(LIBRARY)


def seen_of(span):
    """What is compared of a span; the attributes of errors are in the list of differences."""
    scope = span.instrumentation_scope
    attributes = {
        key: value for key, value in span.attributes.items() if key not in {"error.type", "db.response.status_code"}
    }
    return (
        *(span.name, span.kind.name, attributes, span.status.status_code.name),
        *(scope.name, scope.version, scope.schema_url),
    )


def test_a_cluster_is_told_like_theirs(stock_instrumentor, wrap, seen, cluster_server):
    """It tells nothing of its servers."""

    def main():
        with redis.RedisCluster(host="127.0.0.1", port=cluster_server.port) as client:
            seen.spans()
            client.set("{a}", 1)
            client.pipeline().get("{a}").set("{a}", 2).execute()
        return [seen_of(span) for span in seen.spans()]

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    stock = main()
    wrap(telemetry="same")

    assert main() == stock
    assert [span[0] for span in stock] == ["SET", "GET SET"]


@pytest.mark.parametrize("ours_first", [True, False])
def test_its_hooks_are_called(stock_instrumentor, wrap, seen, run, run_async, ours_first):
    """With the same arguments; also if ours is told of them later."""
    calls = []

    def request_hook(span, client, args, kwargs):
        calls.append(("request", type(client).__name__, args, kwargs))
        span.set_attribute("mine", args[0])

    def response_hook(span, client, response):
        calls.append(("response", type(client).__name__, response))
        span.update_name("renamed")

    def main(client):
        client.set("a", 1, get=True)
        client.pipeline().set("a", 1).get("a").execute()
        with pytest.raises(redis.ResponseError):
            client.lpush("text", 1)
        with client.pipeline() as pipeline:
            pipeline.watch("a")
            client.set("a", 2)
            pipeline.multi()
            pipeline.set("a", 3)
            with pytest.raises(redis.WatchError):
                pipeline.execute()

    async def main_async(client):
        await client.set("a", 1)
        await client.pipeline().get("a").execute()

    def both():
        calls.clear()
        run(main)
        run_async(main_async)
        return list(calls), [(span.name, span.attributes.get("mine")) for span in seen.spans()]

    run(lambda client: client.set("a", 1))
    given = {"tracer_provider": seen.tracer_provider, "request_hook": request_hook, "response_hook": response_hook}
    stock_instrumentor.instrument(**given)
    stock = both()
    if ours_first:
        stock_instrumentor.uninstrument()
        wrap(telemetry="same")
        stock_instrumentor.instrument(**given)
    else:
        wrap(telemetry="same")

    assert both() == stock
    assert len(stock[0]) > 10


def test_a_hook_that_raises_is_its_own_matter(stock_instrumentor, wrap, seen, run, caplog, no_faults):
    """It is a warning of theirs, and the command is as it would be."""

    def hook(*_args):
        raise KeyError("mine")

    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, request_hook=hook, response_hook=hook)

    with caplog.at_level(logging.WARNING):
        assert run(lambda client: client.get("text")) == b"a"

    assert seen.names() == ["GET"]
    assert len([line for line in caplog.messages if "hook" in line]) == 2
    assert no_faults.counts() == {}


def test_searches_are_told_like_theirs(stock_instrumentor, wrap, seen, monkeypatch, redis_server):
    """The server of the tests has no such module: the answer is made up."""
    answer = [1, "document", ["field", "value"]]
    client = redis.Redis(port=redis_server.port)
    found = []

    for is_ours in (False, True):
        with monkeypatch.context() as patched:
            patched.setattr(redis.Redis, "_send_command_parse_response", lambda *_args, **_kwargs: answer)
            if is_ours:
                wrap(telemetry="same")
            stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
            client.execute_command("FT.SEARCH", "index", "query")
            client.execute_command("FT.CREATE", "index", "SCHEMA", "name", "TEXT")
            stock_instrumentor.uninstrument()
        found.append([seen_of(span) for span in seen.spans()])

    assert found[1] == found[0]
    assert found[0][0][2]["redis.search.total"] == 1
    assert found[0][1][2]["redis.create_index.index"] == "index"


@pytest.mark.proves("redis.official.*")
def test_a_client_of_its_own_function_has_one_span(wrap, seen, run, run_async):
    """`instrument_client`, which works without `instrument`: while ours is on, ours tells."""
    wrap()

    def main(client):
        RedisInstrumentor.instrument_client(client, tracer_provider=seen.tracer_provider)
        client.get("a")
        client.pipeline().get("a").execute()

    async def main_async(client):
        RedisInstrumentor.instrument_client(client, tracer_provider=seen.tracer_provider)
        await client.get("a")
        await client.pipeline().get("a").execute()

    run(main)
    run_async(main_async)

    assert [span.name for span in seen.spans()] == ["GET", "MULTI GET"] * 2


@pytest.mark.parametrize("ours_first", [True, False])
def test_without_ours_such_a_client_has_theirs(wrap, instrumentor, seen, run, ours_first):
    """Before and after; commands of one that was instrumented before have theirs in any case."""

    def main(client):
        if ours_first:
            wrap()
        RedisInstrumentor.instrument_client(client, tracer_provider=seen.tracer_provider)
        if not ours_first:
            client.get("a")
            wrap()
            client.get("a")
        instrumentor.uninstrument()
        client.get("a")

    run(main)

    spans = seen.spans()
    assert [span.name for span in spans] == ["GET"] * (1 if ours_first else 3)
    assert {span.instrumentation_scope.name for span in spans} == {SCOPE}


def test_undone_theirs_is_back(stock_instrumentor, wrap, instrumentor, seen, run):
    """Once ours is uninstrumented, what was enabled does, with its hooks."""
    calls = []
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, request_hook=lambda *args: calls.append(args))
    wrap()
    instrumentor.uninstrument()

    run(lambda client: client.pipeline().get("a").get("b").execute())
    run(lambda client: client.get("a"))

    assert seen.names() == ["GET GET", "GET"]
    assert len(calls) == 1


def test_what_is_meant_to_differ_differs(stock_instrumentor, wrap, seen, run):
    """A lock's first release is no error."""

    def main(client):
        client.script_flush()
        with client.lock("mine", timeout=5):
            pass

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(main)
    theirs = {span.name: span for span in reversed(seen.spans())}
    wrap(telemetry="same")
    run(main)
    ours = {span.name: span for span in reversed(seen.spans())}

    assert theirs["EVALSHA"].status.status_code is StatusCode.ERROR
    assert ours["EVALSHA"].status.status_code is StatusCode.UNSET
