"""Calls of OpenAI's client, answered in this process."""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import os
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import openai
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

from otel_fastpath.tools.prove.libraries.modes import instrumented, providers
from otel_fastpath.tools.prove.values_drawn import maybe

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

    from otel_fastpath.tools.prove.program import ProgramRun

_CALLS: Final = 6
_WRONG: Final = "none"
_CONTENT: Final = ("", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")
_USAGE: Final = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


# The module of its clients: httpx, or what took its place.
_http: Any = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])


def _choice(**more: Any) -> dict[str, Any]:
    return {"index": 0, "finish_reason": "stop", **more}


_CHAT: Final = {"id": "c", "created": 1, "usage": _USAGE}
_ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "/v1/chat/completions": {
        **_CHAT,
        "object": "chat.completion",
        "choices": [_choice(message={"role": "assistant", "content": "hello"})],
    },
    "/v1/embeddings": {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    },
}
_RESPONSE: Final[dict[str, Any]] = {
    "id": "r",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "id": "o",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hello", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 3,
        "output_tokens": 2,
        "total_tokens": 5,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
_CHUNKS: Final[tuple[dict[str, Any], ...]] = (
    {**_CHAT, "usage": None, "choices": [_choice(delta={"role": "assistant", "content": "he"}, finish_reason=None)]},
    {**_CHAT, "usage": None, "choices": [_choice(delta={"content": "llo"})]},
    {**_CHAT, "choices": []},
)


def _answer(request: Any) -> Any:
    if request.method == "GET":
        return _http.Response(200, json={**_RESPONSE, "model": "m-1"})
    asked = json.loads(request.content)
    if asked["model"] == _WRONG:
        return _http.Response(400, json={"error": {"message": "no such model"}})
    model = f"{asked['model']}-1"
    if not asked.get("stream"):
        return _http.Response(200, json={**_ANSWERS.get(request.url.path, _RESPONSE), "model": model})
    if request.url.path == "/v1/responses":
        return _streamed(f"event: {name}\ndata: {json.dumps(event)}\n\n" for name, event in _events(model))
    chunks = [{**each, "model": model, "object": "chat.completion.chunk"} for each in _CHUNKS]
    return _streamed([*(f"data: {json.dumps(each)}\n\n" for each in chunks), "data: [DONE]\n\n"])


def _streamed(lines: Iterable[str]) -> Any:
    return _http.Response(200, text="".join(lines), headers={"content-type": "text/event-stream"})


def _events(model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a streamed response."""
    names = ("response.created", "response.in_progress", "response.completed")
    for number, name in enumerate(names):
        yield name, {"type": name, "sequence_number": number, "response": {**_RESPONSE, "model": model}}


def _asked(draw: random.Random) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": draw.choice(("m", "n", _WRONG))}
    asked["messages"] = [{"role": "user", "content": draw.choice(("Hello", "", "I am \U0001f600"))}]
    asked |= {"temperature": 0.5, "max_tokens": 5} if draw.randrange(2) else {}
    return asked


def _chat(client: Any, draw: random.Random) -> Any:
    if draw.randrange(2):
        return len(list(client.chat.completions.create(**_asked(draw), stream=True)))
    return client.chat.completions.create(**_asked(draw)).model


def _embedded(draw: random.Random) -> dict[str, Any]:
    return {
        "model": draw.choice(("m", _WRONG)),
        "input": "a",
        "encoding_format": "float",
        **maybe(draw, 2, dimensions=2),
    }


def _embed(client: Any, draw: random.Random) -> Any:
    return client.embeddings.create(**_embedded(draw)).model


def _responded(draw: random.Random) -> dict[str, Any]:
    texts = ("Hello", [{"role": "user", "content": "Hello"}])
    more = maybe(draw, 3, instructions="Be brief.", temperature=0.5, max_output_tokens=5)
    return {"model": draw.choice(("m", _WRONG)), "input": draw.choice(texts), **more}


def _respond(client: Any, draw: random.Random) -> Any:
    found = client.responses.retrieve("r").model
    if draw.randrange(2):
        return found, len(list(client.responses.create(**_responded(draw), stream=True)))
    return found, client.responses.create(**_responded(draw)).model


async def _chat_async(draw: random.Random) -> Any:
    transport = _http.MockTransport(_answer)
    async with openai.AsyncOpenAI(**_SETTINGS, http_client=_http.AsyncClient(transport=transport)) as client:
        if draw.randrange(2):
            return len([each async for each in await client.chat.completions.create(**_asked(draw), stream=True)])
        return (await client.chat.completions.create(**_asked(draw))).model


async def _call_others_async(draw: random.Random) -> Any:
    transport = _http.MockTransport(_answer)
    async with openai.AsyncOpenAI(**_SETTINGS, http_client=_http.AsyncClient(transport=transport)) as client:
        found = [(await client.responses.retrieve("r")).model]
        found.append((await client.embeddings.create(model="m", input="a", encoding_format="float")).model)
        return (*found, (await client.responses.create(**_responded(draw))).model)


_SETTINGS: Final[dict[str, Any]] = {"api_key": "key", "base_url": "http://localhost:9/v1", "max_retries": 0}


def run_openai(run: ProgramRun) -> None:
    """Calls of a client, and of asynchronous ones."""
    mode = {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": _CONTENT[run.seed % len(_CONTENT)],
    }
    client = openai.OpenAI(**_SETTINGS, http_client=_http.Client(transport=_http.MockTransport(_answer)))
    instrumentor = OpenAIInstrumentor()

    def call(draw: random.Random) -> None:
        for each in (_chat, _embed, _respond):
            run.attempt(each, client, draw)
        for make in (_chat_async, _call_others_async):
            run.attempt(lambda make=make: asyncio.run(make(draw)))

    again, telemetry = functools.partial(call, run.draw), run.telemetry()
    with (
        mock.patch.dict(os.environ, mode),
        client,
        instrumented(run, telemetry, instrumentor, again, **providers(telemetry)),
    ):
        for draw in run.halves():
            for _ in range(_CALLS):
                call(draw)


PROGRAM: Final = run_openai
