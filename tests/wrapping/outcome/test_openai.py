"""Whatever telemetry raises around a call of OpenAI's client: the outcome is the client's, and the context."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging

import openai
import pytest
from both import run as run_with
from both import take, wait, within
from combinations import crossed
from madeup import CHAT, answer, chunk, http, refusal
from opentelemetry import context
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sabotage import FOREIGN, RAISED, Odd, as_ours, broken, broken_logging, plain, raising_once
from sockets import EVENTS, connect, serving

from otel_fastpath.genai.openai import completion_hooks, content, endpoints, patches, streams
from otel_fastpath.genai.openai import telemetry as telemetries
from otel_fastpath.genai.openai.reading import chunks
from otel_fastpath.genai.openai.realtime import sessions, sockets

CHUNKS = [chunk("a"), chunk("b"), chunk(None, "stop")]
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}


async def _call(client):
    return (await wait(client.chat.completions.create(**ASK))).id


async def _raw(client):
    raw = await wait(client.chat.completions.with_raw_response.create(**ASK))
    return (await wait(raw.parse())).id


async def _streaming_response(client):
    async with within(client.chat.completions.with_streaming_response.create(**ASK)) as response:
        return (await wait(response.parse())).id


async def _stream(client):
    return len(await take(await wait(client.chat.completions.create(**ASK, stream=True))))


async def _raw_stream(client):
    raw = await wait(client.chat.completions.with_raw_response.create(**ASK, stream=True))
    return len(await take(await wait(raw.parse())))


async def _within(client):
    async with within(await wait(client.chat.completions.create(**ASK, stream=True))) as stream:
        return len(await take(stream, 2))


async def _raised_within(client):
    mine = KeyError("mine")
    try:
        async with within(await wait(client.chat.completions.create(**ASK, stream=True))) as stream:
            await take(stream, 1)
            raise mine
    except KeyError as error:
        return error is mine


async def _closed(client):
    stream = await wait(client.chat.completions.create(**ASK, stream=True))
    await take(stream, 1)
    await wait(stream.close())
    return "closed"


async def _dropped(client):
    await take(await wait(client.chat.completions.create(**ASK, stream=True)), 1)
    gc.collect()
    return "dropped"


async def _refused(client):
    made = []
    original = client._make_status_error

    def make(*args, **kwargs):
        made.append(original(*args, **kwargs))
        return made[-1]

    client._make_status_error = make
    try:
        await wait(client.chat.completions.create(**ASK))
    except openai.BadRequestError as error:
        return [error] == made
    finally:
        del client._make_status_error


# What is done, with which answer -> what it gives.
ENTRIES = {
    "call": (_call, CHAT, "chatcmpl-1"),
    "raw": (_raw, CHAT, "chatcmpl-1"),
    "streaming response": (_streaming_response, CHAT, "chatcmpl-1"),
    "stream": (_stream, CHUNKS, 3),
    "raw stream": (_raw_stream, CHUNKS, 3),
    "within": (_within, CHUNKS, 2),
    "raised within": (_raised_within, CHUNKS, True),
    "closed": (_closed, CHUNKS, "closed"),
    "dropped": (_dropped, CHUNKS, "dropped"),
    "refused": (_refused, None, True),
}
OWN = {
    "target": (telemetries.OpenAITelemetry, "target"),
    "capture": (telemetries.OpenAITelemetry, "capture"),
    "conversation": (telemetries.OpenAITelemetry, "conversation"),
    "content": (telemetries.OpenAITelemetry, "with_content"),
    "tell": (telemetries.OpenAITelemetry, "tell"),
    "record": (telemetries.OpenAITelemetry, "_record"),
    "answer": (content.Captured, "answer"),
    "on_span": (content.Captured, "on_span"),
    "chunk": (chunks.ChatChunks, "add"),
    "chunks": (chunks.ChatChunks, "finish"),
    "received": (patches, "_try_end_or_follow"),
    "follow": (patches, "follow"),
    "raw body": (patches, "_raw_body"),
    "raw stream": (patches, "_raw_stream"),
    "headers": (streams, "headers"),
    "left": (streams, "end"),
    "endpoint": (endpoints, "template_of"),
    "hook": (completion_hooks, "call_hook"),
}
SESSION = {
    "start": (sessions, "_start"),
    "read": (sessions.RealtimeConnection, "_failure"),
    "measure": (sessions.RealtimeConnection, "_measure"),
    "describe": (sessions.RealtimeConnection, "_describe"),
    "followed": (sockets, "_try_follow"),
    "restore": (sockets.Followed, "_restore"),
}


@pytest.fixture(params=["sync", "async"])
def kind(request):
    """Either client."""
    return request.param


@pytest.fixture
def instrument(instrumentor, core, environ):
    """Ours with each core and content captured everywhere, and a log that raises."""
    environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_and_event")
    environ.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")

    def go(**providers):
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **providers)

    with broken_logging():
        yield go


def client_settings(kind, *answers):
    """What a client is made with that gets these answers in turn."""
    transport = http.MockTransport(answer(answers, []))
    client = http.Client(transport=transport) if kind == "sync" else http.AsyncClient(transport=transport)
    return {"api_key": "k", "base_url": "http://localhost:9/v1", "max_retries": 0, "http_client": client}


def everything(kind, names=tuple(ENTRIES)):
    """Each entry once; what came of it must be the client's own."""
    for name in names:
        entry, given, expected = ENTRIES[name]

        async def go(client, entry=entry, expected=expected, name=name):
            mine = context.attach(context.set_value("mine", 1))
            before = context.get_current()
            assert (name, await entry(client)) == (name, expected)
            await asyncio.sleep(0) if kind == "async" else None
            assert context.get_current() is before, name
            context.detach(mine)

        run_with(kind, go, **client_settings(kind, given or refusal(400)))


@pytest.mark.parametrize("saboteur", ["metrics"])
def test_a_foreign_fault_is_not_the_applications(instrument, kind, no_faults, saboteur, caplog):
    """Whichever part of the set-up raises, and our log besides."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")
    instrument(**FOREIGN[saboteur]())

    everything(kind)

    assert no_faults.counts() == {}
    assert [line for line in caplog.messages if "detach" in line] == []


@pytest.mark.parametrize("saboteur", [*RAISED, "logs"])
def test_an_error_of_the_set_up_is_raised(instrument, kind, saboteur):
    """The error of a processor, sampler or id generator is the application's to see."""
    instrument(**FOREIGN[saboteur]())

    async def go(client):
        with raising_once():
            await _call(client)
        with raising_once():
            await _stream(client)

    run_with(kind, go, **client_settings(kind, CHAT, CHUNKS))


@pytest.mark.parametrize(("kind", "place"), crossed(["sync", "async"], list(OWN)), indirect=["kind"])
def test_a_fault_of_ours_is_not_the_applications(instrument, kind, monkeypatch, place):
    """In whichever function of the wrapper."""
    instrument(**plain())
    monkeypatch.setattr(*OWN[place], as_ours(broken))

    everything(kind)


@pytest.mark.parametrize("place", ["target", "capture", "tell", "chunk", "chunks", "received"])
def test_a_fault_of_ours_is_counted(instrument, kind, no_faults, monkeypatch, place):
    """Of those that every set-up comes through."""
    instrument(**plain(), completion_hook=None)
    monkeypatch.setattr(*OWN[place], as_ours(broken))

    everything(kind)

    assert place in {"capture", "tell"} or no_faults.counts()


@pytest.mark.parametrize("saboteur", [*FOREIGN, *SESSION])
def test_a_session_is_the_clients_own(instrument, kind, monkeypatch, saboteur):
    """A websocket that is entered, read and left, well and with an exception."""
    instrument(**FOREIGN.get(saboteur, plain)())
    if saboteur in SESSION:
        monkeypatch.setattr(*SESSION[saboteur], as_ours(broken))

    async def go(client):
        before = context.get_current()
        async with within(connect(client)) as connection:
            assert context.get_current() is before
            assert len([await wait(connection.recv()) for _ in EVENTS]) == len(EVENTS)
        assert context.get_current() is before
        mine = KeyError("mine")
        with pytest.raises(KeyError) as raised:
            async with within(connect(client)):
                raise mine
        assert raised.value is mine
        assert context.get_current() is before

    with serving() as server:
        server.scripts = [EVENTS]
        host, port = server.address
        urls = {"base_url": f"http://{host}:{port}/v1", "websocket_base_url": f"ws://{host}:{port}/v1"}
        run_with(kind, go, api_key="k", **urls)


@pytest.mark.parametrize("error", [Odd(), KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_an_exception_is_the_very_same(instrument, monkeypatch, error):
    """Whatever the client raises, also what cannot be made a text."""

    def request(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(openai._base_client.SyncAPIClient, "request", request)
    instrument(**plain())
    before = context.get_current()

    with openai.OpenAI(api_key="k") as client, pytest.raises(type(error)) as raised:
        client.chat.completions.create(**ASK)

    assert raised.value is error
    assert context.get_current() is before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", ["on_start", "on_end"])
def test_who_asks_to_stop_is_heard(instrument, stop, at):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""

    def interrupted(*_args, **_kwargs):
        raise stop

    providers = plain()
    providers["tracer_provider"].add_span_processor(type("Stops", (SpanProcessor,), {at: interrupted})())
    instrument(**providers)
    before = context.get_current()

    with openai.OpenAI(**client_settings("sync", CHAT)) as client, pytest.raises(stop):
        client.chat.completions.create(**ASK)

    assert context.get_current() is before


def test_a_read_can_be_given_up_in_another_context(instrument, caplog):
    """A call of the asynchronous client whose coroutine is closed elsewhere: no error and no line in the log."""

    class Never(http.AsyncBaseTransport):
        async def handle_async_request(self, request):  # noqa: ARG002  # the interface's
            class Waits:
                def __await__(self):
                    yield

            await Waits()

    instrument(**plain())
    settings = client_settings("async", CHAT)
    settings["http_client"] = http.AsyncClient(transport=Never())
    client = openai.AsyncOpenAI(**settings)
    coroutine = client.chat.completions.create(**ASK)

    async def main():
        task = contextvars.copy_context()
        task.run(coroutine.send, None)
        coroutine.close()

    asyncio.run(main())

    assert caplog.messages == []


def test_an_exit_can_be_given_up_in_another_context():
    """The `__aexit__` of a stream that is closed elsewhere raises nothing of ours."""

    class Never:
        def __await__(self):
            yield

    async def original(_self, _kind, _error, _traceback):
        await Never()

    coroutine = patches.make_async_exit(original, None)(None, None, None, None)
    contextvars.copy_context().run(coroutine.send, None)

    coroutine.close()


def test_an_unhashable_type_loses_nothing(instrument, kind):
    """Of what is captured of a request whose items have a list in the place of a `type`."""
    exporter, providers = InMemorySpanExporter(), plain()
    providers["tracer_provider"].add_span_processor(SimpleSpanProcessor(exporter))
    instrument(**providers)
    given = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": [], "tools": []}

    async def go(client):
        await wait(
            client.responses.create(
                model="m",
                input=[{"type": ["message"], "role": "user", "content": "odd"}, {"role": "user", "content": "Hello."}],
            )
        )

    run_with(kind, go, **client_settings(kind, given))

    (span,) = exporter.get_finished_spans()
    assert "Hello." in span.attributes["gen_ai.input.messages"]
    assert "odd" in span.attributes["gen_ai.input.messages"]
