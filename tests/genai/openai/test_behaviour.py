"""What the host notices: nothing; and what is told when something goes another way than to its end."""

from __future__ import annotations

import gc
import inspect
import logging
from contextlib import suppress

import openai
import pytest
from madeup import CHAT, chunk
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from otel_fastpath import compiled
from otel_fastpath.genai.openai import patches
from otel_fastpath.genai.openai.streams import Pending
from otel_fastpath.genai.openai.telemetry import CaptureSettings, OpenAITelemetry, TelemetryScope
from otel_fastpath.patching import faults

ASK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
CHUNKS = [chunk("He"), chunk("llo"), chunk("", finish_reason="stop"), chunk(usage={"prompt_tokens": 3})]
SUPPRESS = context._SUPPRESS_INSTRUMENTATION_KEY


@pytest.fixture(autouse=True)
def no_fault():
    """No test makes our own code fail."""
    before = faults.counts()
    yield
    assert faults.counts() == before


def test_a_suppressed_call_is_not_told(told, client):
    """The key that OpenTelemetry has for it."""
    token = context.attach(context.set_value(SUPPRESS, value=True))
    try:
        client(CHAT).chat.completions.create(**ASK)
    finally:
        context.detach(token)

    assert told.spans() == ()
    assert told.metrics() == {}


def test_a_call_that_is_not_sampled_is_measured_all_the_same(told, client):
    """Metrics do not depend on the sampler, and what is below the call is not sampled either."""
    parents = []
    off = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    made = client(CHAT)
    made._client.event_hooks = {"request": [lambda _request: parents.append(trace.get_current_span())]}
    calls = patches._telemetry.calls
    calls.tracer = off.get_tracer("off")

    made.chat.completions.create(**ASK)

    assert told.spans() == ()
    assert {name: points[0].count for name, points in told.metrics().items()} == {
        "gen_ai.client.operation.duration": 1,
        "gen_ai.client.token.usage": 1,
    }
    assert parents[0].get_span_context().is_valid
    assert not parents[0].is_recording()


def test_without_telemetry_nothing_is_looked_at(client):
    """Where nobody set a provider, a call costs a look."""
    patches.use(OpenAITelemetry(TelemetryScope("test", "1"), CaptureSettings(), {}))

    assert client(CHAT).chat.completions.create(**ASK).id == "chatcmpl-1"


def test_a_call_is_recognised_by_its_path(told, client):
    """Also one that is posted by hand, without the method for it, which is what stock's replaces."""
    client(CHAT).post("/chat/completions", cast_to=object, body=ASK)

    [span] = told.spans()
    assert span.name == f"chat {ASK['model']}"


def test_types_signatures_and_identity_stay(told, client):
    """A stream is the client's own class, and the methods look as they did."""
    made = client(CHUNKS)
    stream = made.chat.completions.create(**ASK, stream=True)

    assert type(stream) is openai.Stream
    # Old clients have one more.
    shown = [name for name in inspect.signature(openai.OpenAI.request).parameters if name != "remaining_retries"]
    assert shown == ["self", "cast_to", "options", "stream", "stream_cls"]
    assert inspect.iscoroutinefunction(openai.AsyncOpenAI.request)
    assert [each.choices[0].delta.content for each in stream if each.choices] == ["He", "llo", ""]
    (span,) = told.spans()
    assert span.attributes["gen_ai.response.finish_reasons"] == ("stop",)


def test_a_generator_of_messages_is_sent_whole(told, client, asked):
    """Also where content is captured."""
    told.use(on_span=True)

    client(CHAT).chat.completions.create(model="gpt-4o", messages=(each for each in ASK["messages"]))

    assert b'"content":"Hi"' in asked[0].content.replace(b": ", b":")
    (span,) = told.spans()
    assert span.attributes["gen_ai.input.messages"] == (
        '[{"role":"user","parts":[{"content":"Hi","type":"text"}],"name":null}]'
    )


def test_a_stream_that_is_never_read_ends_when_it_is_collected(told, client):
    """As an error: nobody knows how it went."""
    client(CHUNKS).chat.completions.create(**ASK, stream=True)
    gc.collect()

    (span,) = told.spans()
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "_OTHER")


def test_a_raw_stream_that_is_never_parsed_ends_when_it_is_collected(told, client):
    """Likewise."""
    client(CHUNKS).chat.completions.with_raw_response.create(**ASK, stream=True)
    gc.collect()

    (span,) = told.spans()
    assert span.attributes["error.type"] == "_OTHER"


@pytest.mark.parametrize("form", ["close", "with", "response"])
def test_a_stream_that_is_closed_early_ends_well(told, client, form):
    """With what was received so far, and at once."""
    stream = client(CHUNKS).chat.completions.create(**ASK, stream=True)
    if form == "with":
        with stream:
            next(stream)
    else:
        next(stream)
        (stream if form == "close" else stream.response).close()

    (span,) = told.spans()
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["gen_ai.response.id"] == "chatcmpl-1"
    # Nothing of ours stays with the response.
    assert {"close", "aclose"}.isdisjoint(vars(stream.response))


def test_an_exception_inside_of_with_is_the_streams(told, client):
    """Also where the helper is what is left."""
    made = client(CHUNKS)
    # In old clients it is in `client.beta`.
    completions = made.chat.completions if hasattr(made.chat.completions, "stream") else made.beta.chat.completions
    for stream in (made.chat.completions.create(**ASK, stream=True), completions.stream(**ASK)):
        with suppress(KeyError), stream as opened:
            next(opened)
            raise KeyError("mine")

    assert [span.attributes["error.type"] for span in told.spans()] == ["KeyError", "KeyError"]


def test_malformed_chunks_reach_the_caller(told, client):
    """What is missing in them is missing in the span; nothing is raised."""
    odd = [{"id": "chatcmpl-1", "choices": None}, {"choices": [{"delta": None, "finish_reason": "stop"}]}, {}]

    chunks = list(client(odd).chat.completions.create(**ASK, stream=True))

    assert len(chunks) == 3
    (span,) = told.spans()
    assert span.attributes["gen_ai.response.finish_reasons"] == ("stop",)


def test_the_span_is_current_while_a_stream_is_read_only(told, client):
    """The caller's loop body is the caller's."""
    inside, outside = [], []

    class Body(openai.Stream[openai.types.chat.ChatCompletionChunk]):
        def _iter_events(self):
            inside.append(trace.get_current_span().get_span_context())
            yield from super()._iter_events()

    raw = client(CHUNKS).chat.completions.with_raw_response.create(**ASK, stream=True)
    outside.extend(trace.get_current_span().get_span_context().is_valid for _ in raw.parse(to=Body))

    (span,) = told.spans()
    assert inside == [span.get_span_context()]
    assert outside == [False] * len(CHUNKS)


def test_nothing_is_left_of_an_async_stream_that_is_given_up(told, run_async, caplog):
    """No detach warning, no context that leaks, one span."""

    async def scenario(client):
        async def chunks():
            async for each in await client.chat.completions.create(**ASK, stream=True):
                yield each

        made = chunks()
        await anext(made)
        await made.aclose()
        del made
        gc.collect()
        return trace.get_current_span().get_span_context().is_valid

    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        assert run_async(scenario, CHUNKS) is False
    gc.collect()

    assert [record for record in caplog.records if "detach" in record.message.lower()] == []
    assert len(told.spans()) == 1


def test_an_async_stream_is_followed(told, run_async):
    """With a metric for each chunk."""

    async def scenario(client):
        async with await client.chat.completions.create(**ASK, stream=True) as stream:
            return [each async for each in stream]

    assert len(run_async(scenario, CHUNKS)) == len(CHUNKS)

    (span,) = told.spans()
    assert span.attributes["gen_ai.usage.input_tokens"] == 3
    metrics = told.metrics()
    assert metrics["gen_ai.client.operation.time_to_first_chunk"][0].count == 1
    assert metrics["gen_ai.client.operation.time_per_output_chunk"][0].count == len(CHUNKS) - 1


def test_a_fault_of_ours_is_not_the_hosts(told, client, monkeypatch, no_fault):  # noqa: ARG001  # it is undone below
    """The call is made, once, and the fault is counted."""
    monkeypatch.setattr(faults, "report_any", lambda place, _error: places.append(place))
    places = []
    monkeypatch.setattr(OpenAITelemetry, "target", lambda *_: 1 / 0)

    assert client(CHAT).chat.completions.create(**ASK).id == "chatcmpl-1"
    assert places == ["the beginning of an OpenAI call"]


def test_nothing_is_kept_of_calls_that_are_over(told, client):
    """Neither of the call, nor of its stream, nor of what names it."""
    made = client(CHAT)
    streaming = client(CHUNKS)
    for _ in range(50):
        made.chat.completions.create(**ASK)
        for _ in streaming.chat.completions.create(**ASK, stream=True):
            pass
    gc.collect()

    kinds = (
        compiled.load("genai.openai.calls").OpenAICall,
        compiled.load("genai.openai.reading.iterators").Reads,
        Pending,
    )
    assert [each for each in gc.get_objects() if issubclass(type(each), kinds)] == []
    assert len(told.spans()) == 100
    assert len(patches._telemetry._known.items) == 1
