"""A pipeline is one span, whose name does not grow with it."""

from __future__ import annotations

import pytest
import redis
from opentelemetry.trace import StatusCode

MANY = 200


def _filled(pipeline, commands):
    for name, *args in commands:
        getattr(pipeline, name)(*args)
    return pipeline


def _execute(client, commands, **settings):
    """Execute these commands in a pipeline; an asynchronous one returns an awaitable."""
    return _filled(client.pipeline(**settings), commands).execute()


# Commands and whether they are a transaction -> name, text and size.
PIPELINES = {
    "alike": ([("get", "a"), ("get", "b")], False, "PIPELINE GET", "GET ?", 2),
    "many alike": ([("get", "a")] * MANY, False, "PIPELINE GET", "GET ?", MANY),
    "one": ([("get", "a")], False, "GET", "GET ?", None),
    "mixed": ([("get", "a"), ("set", "a", 1)], False, "PIPELINE", "GET ?\nSET ? ?", 2),
    "many mixed": (
        [("get", "a"), ("set", "a", 1)] * MANY,
        False,
        "PIPELINE",
        "GET ?\nSET ? ?\n" * 8 + "...",
        2 * MANY,
    ),
    "a late other": ([("get", "a")] * MANY + [("ping",)], False, "PIPELINE", "GET ?\n" * 16 + "...", MANY + 1),
    "alike but in number": ([("mget", ["a"]), ("mget", ["a", "b"])], False, "PIPELINE MGET", "MGET ?\nMGET ? ?", 2),
    "transaction": ([("set", "a", 1), ("set", "b", 2)], True, "MULTI SET", "SET ? ?", 2),
    "mixed transaction": ([("set", "a", 1), ("get", "a")], True, "MULTI", "SET ? ?\nGET ?", 2),
    "transaction of one": ([("set", "a", 1)], True, "MULTI SET", "SET ? ?", None),
}


@pytest.mark.proves("redis.pipeline", "redis.async_pipeline")
@pytest.mark.parametrize("kind", PIPELINES)
def test_a_pipeline_is_one_span(look_both, kind):
    """With a bounded name and text, and the number of its commands; twice, as the second has its plan."""
    commands, transaction, name, text, size = PIPELINES[kind]

    async def twice(client):
        for _ in range(2):
            await _execute(client, commands, transaction=transaction)

    def main(client):
        if hasattr(client, "aclose"):
            return twice(client)
        return [_execute(client, commands, transaction=transaction) for _ in range(2)]

    spans = look_both(main).spans()

    assert len(spans) == 2
    for span in spans:
        assert (span.name, span.attributes["db.operation.name"]) == (name, name)
        assert span.attributes["db.query.text"] == text
        assert span.attributes.get("db.operation.batch.size") == size


def test_pipelines_of_any_length_share_a_name(look):
    """And the metric's series."""

    def main(client):
        for size in range(1, 40):
            _execute(client, [("get", "a"), ("incr", "n")] * size, transaction=False)

    seen = look(main)

    assert set(seen.names()) == {"PIPELINE"}
    (point,) = seen.metrics()["db.client.operation.duration"]
    assert point.count == 39


def test_an_empty_pipeline_sends_nothing(look_both):
    """So it has no span."""
    assert look_both(lambda client: client.pipeline().execute()).spans() == ()


@pytest.mark.proves("redis.pipeline.command")
def test_what_a_transaction_reads_first_is_seen(look):
    """WATCH and what follows it at once are commands; then the transaction is one span."""

    def main(client):
        with client.pipeline() as pipeline:
            pipeline.watch("a")
            value = pipeline.get("text")
            pipeline.multi()
            pipeline.set("a", value)
            pipeline.execute()

    assert look(main).names() == ["WATCH", "GET", "MULTI SET"]


@pytest.mark.proves("redis.async_pipeline.command")
def test_what_an_asynchronous_transaction_reads_first_is_seen(look_async):
    """Likewise."""

    async def main(client):
        async with client.pipeline() as pipeline:
            await pipeline.watch("a")
            value = await pipeline.get("text")
            pipeline.multi()
            await pipeline.set("a", value).execute()

    assert look_async(main).names() == ["WATCH", "GET", "MULTI SET"]


def test_a_lost_race_is_not_an_error(look):
    """The application must expect it, and repeats the transaction."""

    def main(client):
        with client.pipeline() as pipeline:
            pipeline.watch("a")
            client.set("a", "other")
            pipeline.multi()
            pipeline.set("a", "mine")
            with pytest.raises(redis.WatchError):
                pipeline.execute()

    seen = look(main)

    span = seen.spans()[-1]
    assert (span.name, span.status.status_code, span.events) == ("MULTI SET", StatusCode.UNSET, ())
    assert "error.type" not in span.attributes
    assert "error.type" not in {
        key for point in seen.metrics()["db.client.operation.duration"] for key in point.attributes
    }


def test_scripts_of_a_pipeline_are_its_children(look):
    """redis-py asks for them, and sends those that are missing."""

    def main(client):
        script = client.register_script("return 1")
        pipeline = client.pipeline()
        script(client=pipeline)
        assert pipeline.execute() == [1]

    exists, load, pipeline = look(main).spans()

    assert [exists.name, load.name, pipeline.name] == ["SCRIPT EXISTS", "SCRIPT LOAD", "MULTI EVALSHA"]
    assert exists.parent.span_id == load.parent.span_id == pipeline.context.span_id


def test_a_failed_command_is_an_error_of_its_pipeline(look_both):
    """Its exception quotes the command and its arguments, so it is not recorded; its code is."""
    commands = [("set", "a", "hidden"), ("lpush", "a", "hidden")]
    expected = ["WRONGTYPE"]

    async def main_async(client):
        with pytest.raises(redis.ResponseError) as raised:
            await _execute(client, commands)
        if "{" in str(raised.value):
            # Of redis-py 6: it does not have the server's error.
            expected[:] = ["redis.exceptions.ResponseError"]

    def main(client):
        with pytest.raises(redis.ResponseError, match="hidden"):
            _execute(client, commands)

    seen = look_both(lambda c: main_async(c) if hasattr(c, "aclose") else main(c))

    span = seen.one()
    assert span.attributes.get("db.response.status_code", expected[0]) == span.attributes["error.type"] == expected[0]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ResponseError")
    assert "hidden" not in span.to_json()
    (point,) = seen.metrics()["db.client.operation.duration"]
    assert point.attributes["error.type"] == expected[0]


def test_errors_that_are_results_are_none(look):
    """The application asked for them as values."""
    seen = look(lambda client: _filled(client.pipeline(), [("lpush", "text", 1)]).execute(raise_on_error=False))

    assert seen.one().status.status_code is StatusCode.UNSET
