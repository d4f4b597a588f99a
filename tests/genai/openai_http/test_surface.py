"""Every call of the client, in every form: one span, and the caller gets what it gets without us."""

from __future__ import annotations

import inspect

import openai
import pydantic
import pytest
from both import run, take, wait, within
from surface import EVERY
from telemetry import ours

# Some calls are on their way out, and a client's all the same.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
FORMS = ("", "with_raw_response", "with_streaming_response")


async def made(client, call, form, *, stream):
    """Make a call and read its answer to the end; gives what the caller sees."""
    kwargs = {**call.kwargs, "stream": True} if stream else call.kwargs
    answer = call.on(client, form)(*call.args, **kwargs)
    if form == "with_streaming_response":
        async with within(answer) as opened:
            parsed = await wait(opened.parse())
            return type(opened), await seen(parsed)
    answer = await wait(answer)
    if form == "with_raw_response":
        return type(answer), answer.status_code, await seen(await wait(answer.parse()))
    return await seen(answer)


async def seen(answer):
    """An answer as its caller can tell it from another."""
    if isinstance(answer, openai.Stream | openai.AsyncStream):
        return type(answer), [await seen(item) for item in await take(answer)]
    return type(answer), answer.model_dump() if isinstance(answer, pydantic.BaseModel) else None


def test_every_call_has_one_span_and_the_same_answer(kind, settings, kept):
    """In every form, streamed where it can be."""
    names = [(call, form, stream) for call in EVERY for form in FORMS for stream in (False, True)[: 1 + call.streams]]

    async def all_of_them(client):
        found = []
        for call, form, stream in names:
            answer = await made(client, call, form, stream=stream)
            found.append((answer, [span.name for span in kept.spans]))
            kept.clear()
        return found

    bare = run(kind, all_of_them, **settings)
    with ours(kept):
        found = run(kind, all_of_them, **settings)

    for (call, form, stream), (before, none), (after, spans) in zip(names, bare, found, strict=True):
        place = call.method, form, stream
        assert (*place, none) == (*place, [])
        assert (*place, len(spans)) == (*place, 1), spans
        assert (*place, after) == (*place, before)


def test_every_span_says_what_was_done(kind, settings, kept):
    """Operation, provider and server are on each; the model where the request names one."""

    async def all_of_them(client):
        for call in EVERY:
            await wait(call.on(client)(*call.args, **call.kwargs))

    with ours(kept):
        run(kind, all_of_them, **settings)
    assert len(kept.spans) == len(EVERY)
    for call, span in zip(EVERY, kept.spans, strict=True):
        found = span.attributes
        assert found["gen_ai.operation.name"], call.method
        assert (found["gen_ai.provider.name"], found["server.address"]) == ("openai", "127.0.0.1"), call.method
        assert found.get("gen_ai.request.model") == call.kwargs.get("model"), call.method
        assert span.name.startswith(found["gen_ai.operation.name"]), call.method
        assert span.status.status_code.name == "UNSET"
        assert span.kind.name == "CLIENT"


@pytest.mark.parametrize("kind_of_client", [openai.OpenAI, openai.AsyncOpenAI])
def test_methods_look_as_they_are(kind_of_client, kept, settings):
    """Signatures, names and whether they are coroutine functions do not change."""

    def looks():
        client = kind_of_client(**settings)
        methods = [call.on(client, form) for call in EVERY for form in FORMS]
        methods += [client.request, client.post, openai.Stream.__init__, openai.AsyncStream.__init__]
        return [
            (inspect.signature(each), each.__name__, each.__doc__, inspect.iscoroutinefunction(each))
            for each in methods
        ]

    bare = looks()
    with ours(kept):
        assert looks() == bare
