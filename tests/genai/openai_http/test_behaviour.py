"""What users of other instrumentations complain of, over real HTTP with either client: here it goes right."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading

import httpx
import openai
import pytest
from both import next_of, take, wait, within
from loopback.orders import ordered
from opentelemetry import context, trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from surface import CHAT, MESSAGES, RESPONSE

CREATE = {
    "chat": lambda client, **kwargs: client.chat.completions.create(**{**CHAT, **kwargs}),
    "responses": lambda client, **kwargs: client.responses.create(**{**RESPONSE, **kwargs}),
}


@pytest.fixture(params=CREATE)
def create(request):
    """Makes a call of each API that streams."""
    return CREATE[request.param]


@pytest.fixture(autouse=True)
def no_detach_warning(caplog):
    """Nothing is ever detached in the wrong context."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")
    yield
    assert [record.getMessage() for record in caplog.records if "detach" in record.getMessage()] == []


def ended(kept, status="UNSET", error=None):
    """The one span that ended, which must be in this state."""
    (span,) = kept.spans
    assert (span.status.status_code.name, span.attributes.get("error.type")) == (status, error)
    return span


def test_suppression_is_honoured(instrumented, scenario, create):
    """Who asks for no telemetry gets none."""

    async def go(client):
        with suppress_instrumentation():
            await wait(create(client))
            await take(await wait(create(client, stream=True)))

    scenario(go)
    assert instrumented.spans == []
    assert instrumented.seen()["metrics"] == []


@pytest.mark.parametrize("has_left", [True, False], ids=["break in with", "close"])
def test_a_stream_that_is_left_has_ended(instrumented, scenario, create, has_left):
    """With what was received so far, and no error: leaving is the caller's right."""

    async def go(client):
        stream = await wait(create(client, stream=True))
        if has_left:
            async with within(stream):
                await take(stream, 3)
        else:
            await next_of(stream)
            await wait(stream.close())
        assert len(instrumented.spans) == 1

    scenario(go)
    assert ended(instrumented).attributes["gen_ai.response.id"]


@pytest.mark.parametrize("most", [0, 3], ids=["never iterated", "left"])
def test_a_stream_that_is_forgotten_has_ended(instrumented, scenario, create, most):
    """As abandoned, once: when it is collected."""

    async def go(client):
        stream = await wait(create(client, stream=True))
        if most:
            await take(stream, most)
        del stream
        gc.collect()
        # What asyncio puts off until the loop runs again.
        for _ in range(3):
            await asyncio.sleep(0) if isinstance(client, openai.AsyncOpenAI) else None
        gc.collect()

    scenario(go)
    gc.collect()
    ended(instrumented, "ERROR", "_OTHER")


def test_the_callers_exception_is_an_error(instrumented, scenario, create):
    """What leaves the `with` of a stream failed."""

    async def go(client):
        async with within(await wait(create(client, stream=True))) as stream:
            await take(stream, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        scenario(go)
    ended(instrumented, "ERROR", "KeyError")


@pytest.mark.parametrize(("orders", "error"), [({"error": 4}, "APIError"), ({"cut": 4}, "")])
def test_an_error_in_a_stream_is_an_error(instrumented, scenario, create, orders, error):
    """An error event of the server's, or a connection that breaks."""

    async def go(client):
        stream = await wait(create(client, stream=True, extra_headers=ordered(**orders)))
        await take(stream)

    with pytest.raises((openai.APIError, httpx.HTTPError)) as raised:
        scenario(go)
    kind = type(raised.value)
    span = ended(instrumented, "ERROR", f"{kind.__module__}.{kind.__qualname__}")
    assert span.attributes["error.type"].endswith(error)


@pytest.mark.parametrize("orders", [{"no_index": 3}, {"null_choices": 3}, {"no_index": 0}, {"null_choices": 0}])
@pytest.mark.parametrize("content", ["no_content", "span_only"])
def test_malformed_chunks_are_the_callers(kept, environ, scenario, orders, content):
    """They reach the loop as without us, and the span ends well."""
    from telemetry import ours

    environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", content)

    async def go(client):
        return len(await take(await wait(CREATE["chat"](client, stream=True, extra_headers=ordered(**orders)))))

    with ours(kept):
        assert scenario(go) == 14
    ended(kept)


def test_no_json_is_the_callers_too(instrumented, scenario, create):
    """What the client itself cannot read fails as without us."""

    async def go(client):
        await take(await wait(create(client, stream=True, extra_headers=ordered(no_json=4))))

    with pytest.raises(ValueError, match="Expecting property name"):
        scenario(go)
    ended(instrumented, "ERROR", "json.decoder.JSONDecodeError")


def test_the_current_span_in_the_loop_is_the_callers(instrumented, scenario, create):
    """Before, between, after the chunks."""
    tracer = instrumented.providers["tracer_provider"].get_tracer("test")
    seen = set()

    def look(_item):
        seen.add(trace.get_current_span())

    async def go(client):
        before = context.get_current()
        with tracer.start_as_current_span("mine") as mine:
            look(None)
            stream = await wait(create(client, stream=True))
            look(None)
            await take(stream, each=look)
            look(None)
            assert seen == {mine}
        assert context.get_current() == before

    scenario(go)
    call, mine = instrumented.spans
    assert call.parent.span_id == mine.context.span_id


@pytest.mark.parametrize("content", ["no_content", "span_and_event"])
def test_generators_are_sent_whole(kept, environ, scenario, server, content):
    """Messages from a generator reach the provider, and the span where content is captured."""
    from telemetry import ours

    environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", content)

    async def go(client):
        given = {"messages": (each for each in MESSAGES), "extra_headers": {"x-remember": "1"}}
        await wait(client.chat.completions.create(**{**CHAT, **given}))

    with ours(kept):
        scenario(go)
    (asked,) = httpx.get(f"{server}/asked").json()
    assert asked["body"] == CHAT
    assert ("gen_ai.input.messages" in ended(kept).attributes) == (content != "no_content")


def test_nothing_of_the_callers_changes(instrumented, scenario, server, create):
    """Arguments stay what they were, and no header is added to what the provider gets."""
    headers = {"x-remember": "1", "x-mine": "a"}
    given = {"extra_headers": headers, "extra_body": {"metadata": {"a": "b"}}, "extra_query": {"q": "1"}}

    async def go(client):
        await wait(create(client, **given))

    scenario(go)
    assert given == {
        "extra_headers": {"x-remember": "1", "x-mine": "a"},
        "extra_body": {"metadata": {"a": "b"}},
        "extra_query": {"q": "1"},
    }
    (asked,) = httpx.get(f"{server}/asked").json()
    assert "traceparent" not in asked["headers"]
    assert asked["headers"]["x-mine"] == "a"
    assert len(instrumented.spans) == 1


def test_retries_are_one_call(instrumented, scenario, create):
    """However often the client asks again."""

    async def go(client):
        await wait(create(client, extra_headers=ordered(status=429, times=2)))

    scenario(go, max_retries=3)
    ended(instrumented)


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 429, 500, 503, 529])
def test_a_refusal_is_named(instrumented, scenario, create, status):
    """By the exception that the caller gets."""

    async def go(client):
        await wait(create(client, extra_headers=ordered(status=status)))

    with pytest.raises(openai.APIStatusError) as raised:
        scenario(go)
    kind = type(raised.value)
    span = ended(instrumented, "ERROR", f"openai.{kind.__name__}")
    assert span.events == ()


def test_a_server_that_is_not_there_is_an_error(instrumented, scenario, create):
    """The connection is refused."""

    async def go(client):
        await wait(create(client))

    with pytest.raises(openai.APIConnectionError):
        scenario(go, base_url="http://127.0.0.1:9/v1")
    ended(instrumented, "ERROR", "openai.APIConnectionError")


def test_ten_thousand_chunks_are_measured(instrumented, scenario, kind):
    """Each of them, and the first by itself."""
    words = 10_000 if kind == "sync" else 1_000

    async def go(client):
        stream = await wait(CREATE["chat"](client, stream=True, extra_headers=ordered(chunks=words)))
        return len(await take(stream))

    assert scenario(go) == words + 2
    series = instrumented.series()
    (first,) = series["gen_ai.client.operation.time_to_first_chunk"]
    further = series["gen_ai.client.operation.time_per_output_chunk"]
    assert (first[2].count, sum(point.count for *_, point in further)) == (1, words + 1)


def test_slow_chunks_take_their_time(instrumented, scenario):
    """What is measured of a chunk is at least what the server waited."""

    async def go(client):
        await take(await wait(CREATE["chat"](client, stream=True, extra_headers=ordered(chunks=5, slow=20))))

    scenario(go)
    ((_, _, point),) = instrumented.series()["gen_ai.client.operation.time_per_output_chunk"]
    assert point.sum >= 0.02 * (point.count - 1)


def test_a_synchronous_call_inside_of_a_loop_starts_nothing(instrumented, client):
    """No thread, no other loop: one call, one span."""

    async def go():
        before = set(threading.enumerate())
        client.chat.completions.create(**CHAT)
        assert set(threading.enumerate()) == before

    asyncio.run(go())
    ended(instrumented)


def test_a_cancelled_read_is_an_error(instrumented, with_async_client, create):
    """The task that waits for the next chunk is cancelled."""

    async def go(client):
        stream = await create(client, stream=True, extra_headers=ordered(hold=3))
        waiting = asyncio.Event()

        async def read():
            async for _ in stream:
                waiting.set()

        task = asyncio.ensure_future(read())
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream.close()

    with_async_client(go)
    ended(instrumented, "ERROR", "asyncio.exceptions.CancelledError")


def test_a_cancelled_call_is_an_error(instrumented, with_async_client, create):
    """The task that waits for the answer is cancelled."""

    async def go(client):
        task = asyncio.ensure_future(create(client, extra_headers=ordered(status=503), timeout=60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_async_client(go)
    ended(instrumented, "ERROR", "asyncio.exceptions.CancelledError")


def test_a_stream_may_be_read_by_another_task(instrumented, with_async_client, create):
    """Begun here, read there, closed elsewhere."""

    async def go(client):
        stream = await create(client, stream=True)
        iterator = aiter(stream)
        await asyncio.create_task(anext(iterator))
        await asyncio.create_task(anext(iterator))
        await asyncio.create_task(stream.close())

    with_async_client(go)
    ended(instrumented)


def test_a_generator_around_a_stream_may_be_left(instrumented, with_async_client, create):
    """An async generator of the caller's that is dropped in the middle leaks no context."""

    async def go(client):
        async def words():
            async with await create(client, stream=True) as stream:
                async for item in stream:
                    yield item

        before = context.get_current()
        async for _ in words():
            break
        gc.collect()
        await asyncio.sleep(0)
        assert context.get_current() == before

    with_async_client(go)
    gc.collect()
    (span,) = instrumented.spans
    assert span.status.status_code.name in {"UNSET", "ERROR"}


def test_a_hundred_streams_at_once(instrumented, with_async_client):
    """Each has its own span below its own parent."""
    tracer = instrumented.providers["tracer_provider"].get_tracer("test")

    async def one(client, number):
        with tracer.start_as_current_span("mine", attributes={"number": number}):
            stream = await CREATE["chat"](client, stream=True, seed=number, extra_headers=ordered(chunks=5, slow=1))
            chunks = [chunk async for chunk in stream]
            return chunks[0].id

    async def go(client):
        return await asyncio.gather(*(one(client, number) for number in range(100)))

    ids = with_async_client(go)
    mine = {span.context.span_id: span for span in instrumented.spans if span.name == "mine"}
    calls = [span for span in instrumented.spans if span.name != "mine"]
    assert len(calls) == len(mine) == 100
    for span in calls:
        number = mine[span.parent.span_id].attributes["number"]
        assert (span.attributes["gen_ai.request.seed"], span.attributes["gen_ai.response.id"]) == (number, ids[number])


def test_threads_share_a_client(instrumented, client):
    """Twenty threads, five calls each."""

    def work():
        for _ in range(5):
            for _ in CREATE["chat"](client, stream=True, extra_headers=ordered(chunks=3)):
                pass

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(instrumented.spans) == 100
    assert len({span.context.trace_id for span in instrumented.spans}) == 100
