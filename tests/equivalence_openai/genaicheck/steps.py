"""The calls of the surface that the stock instrumentation covers, with every argument and every end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pydantic
from both import next_of, take, wait, within
from loopback.orders import ordered
from surface import CHAT, FORMAT, MESSAGES, MODEL, RESPONSE, TOOL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

RESPONSE_TOOL = {"type": "function", "name": "find_item", "parameters": {"type": "object"}, "strict": False}
EMBEDDING = {"model": "text-embedding-3-small", "input": "a chair"}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "https://example.com/chair.png"}},
]
TALK = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "What about item 17?", "name": "ada"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find_item", "arguments": '{"item": 17}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "It is blue."},
]


class Item(pydantic.BaseModel):
    """What a parsed answer is."""

    item: int


def chat(**kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """A chat completion; a stream is read to its end."""

    async def step(client: Any) -> Any:
        answer = await wait(client.chat.completions.create(**{**CHAT, **kwargs}))
        return await take(answer) if kwargs.get("stream") else answer

    return step


def response(**kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """A response; a stream is read to its end."""

    async def step(client: Any) -> Any:
        answer = await wait(client.responses.create(**{**RESPONSE, **kwargs}))
        return await take(answer) if kwargs.get("stream") else answer

    return step


def embedding(**kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """Embeddings."""

    async def step(client: Any) -> Any:
        return await wait(client.embeddings.create(**{**EMBEDDING, **kwargs}))

    return step


def refused(step: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """A call that fails."""

    async def failing(client: Any) -> Any:
        try:
            await step(client)
        except (openai.OpenAIError, RuntimeError) as error:
            return type(error)
        raise AssertionError("it did not fail")

    return failing


def streamed(resource: str, *, most: int = -1, **kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """A stream inside of `with`, left after some of it."""

    async def step(client: Any) -> Any:
        create = client.chat.completions.create if resource == "chat" else client.responses.create
        given = {**(CHAT if resource == "chat" else RESPONSE), **kwargs}
        async with within(await wait(create(**given, stream=True))) as stream:
            return await take(stream, most)

    return step


def raised_inside(resource: str) -> Callable[[Any], Awaitable[Any]]:
    """The caller's own code fails in the middle of a stream."""

    def fail(_item: Any) -> None:
        raise RuntimeError("the caller's")

    async def step(client: Any) -> Any:
        create = client.chat.completions.create if resource == "chat" else client.responses.create
        given = CHAT if resource == "chat" else RESPONSE
        async with within(await wait(create(**given, stream=True))) as stream:
            await take(stream, each=fail)

    return refused(step)


def closed(resource: str) -> Callable[[Any], Awaitable[Any]]:
    """A stream that is closed after its first item."""

    async def step(client: Any) -> Any:
        create = client.chat.completions.create if resource == "chat" else client.responses.create
        stream = await wait(create(**(CHAT if resource == "chat" else RESPONSE), stream=True))
        await next_of(stream)
        await wait(stream.close())

    return step


def raw(resource: str, **kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """The raw response, parsed."""

    async def step(client: Any) -> Any:
        found = {"chat": client.chat.completions, "responses": client.responses, "embeddings": client.embeddings}
        given = {"chat": CHAT, "responses": RESPONSE, "embeddings": EMBEDDING}[resource]
        answer = await wait(found[resource].with_raw_response.create(**{**given, **kwargs}))
        parsed = await wait(answer.parse())
        return await take(parsed) if kwargs.get("stream") else parsed

    return step


def streaming_response(resource: str, **kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """The response that is read when it is wanted, parsed."""

    async def step(client: Any) -> Any:
        found = {"chat": client.chat.completions, "responses": client.responses}
        given = {"chat": CHAT, "responses": RESPONSE}[resource]
        async with within(found[resource].with_streaming_response.create(**{**given, **kwargs})) as answer:
            parsed = await wait(answer.parse())
            return await take(parsed) if kwargs.get("stream") else parsed

    return step


def parsed(resource: str, **kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """The helper that parses."""

    async def step(client: Any) -> Any:
        if resource == "chat":
            return await wait(client.chat.completions.parse(**{**CHAT, **kwargs}, response_format=Item))
        return await wait(client.responses.parse(**{**RESPONSE, **kwargs}, text_format=Item))

    return step


def helper(resource: str, **kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """The helper that streams."""

    async def step(client: Any) -> Any:
        if resource == "chat":
            manager = client.chat.completions.stream(**{**CHAT, **kwargs})
        else:
            manager = client.responses.stream(**{**RESPONSE, **kwargs})
        async with within(manager) as stream:
            await take(stream)
            final = stream.get_final_completion if resource == "chat" else stream.get_final_response
            return await wait(final())

    return step


def retrieved(**kwargs: Any) -> Callable[[Any], Awaitable[Any]]:
    """A stored response."""

    async def step(client: Any) -> Any:
        answer = await wait(client.responses.retrieve("resp_1", **kwargs))
        return await take(answer) if kwargs.get("stream") else answer

    return step


MANY = {
    "temperature": 0.5,
    "top_p": 0.9,
    "max_tokens": 100,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "seed": 7,
    "stop": ["a", "b"],
    "service_tier": "flex",
    "user": "u",
}
STEPS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "chat": chat(),
    "chat, many arguments": chat(**MANY),
    "chat, other arguments": chat(max_completion_tokens=5, stop="x", reasoning_effort="low", service_tier="auto"),
    "chat, none and omitted": chat(temperature=None, top_p=openai.omit, seed=openai.omit),
    "chat, choices": chat(n=3),
    "chat, one choice": chat(n=1),
    "chat, cached": chat(extra_headers=ordered(cached=1)),
    "chat, schema": chat(response_format=FORMAT),
    "chat, json": chat(response_format={"type": "json_object"}),
    "chat, text": chat(response_format={"type": "text"}),
    "chat, tool": chat(tools=[TOOL], extra_headers=ordered(tools=1)),
    "chat, talk": chat(messages=TALK, tools=[TOOL]),
    "chat, parts": chat(messages=[{"role": "user", "content": PARTS}]),
    "chat, 404": refused(chat(extra_headers=ordered(status=404))),
    "chat, 429": refused(chat(extra_headers=ordered(status=429))),
    "chat, 500": refused(chat(extra_headers=ordered(status=500))),
    "chat, 529": refused(chat(extra_headers=ordered(status=529))),
    "chat stream": chat(stream=True),
    "chat stream, many arguments": chat(**MANY, **USAGE),
    "chat stream, usage": chat(**USAGE),
    "chat stream, cached": chat(**USAGE, extra_headers=ordered(cached=1)),
    "chat stream, choices": chat(**USAGE, n=2),
    "chat stream, tool": chat(**USAGE, tools=[TOOL], extra_headers=ordered(tools=1)),
    "chat stream, empty": chat(**USAGE, extra_headers=ordered(chunks=0)),
    "chat stream, with": streamed("chat"),
    "chat stream, left": streamed("chat", most=4),
    "chat stream, closed": closed("chat"),
    "chat stream, refused": refused(chat(stream=True, extra_headers=ordered(status=400))),
    "chat stream, error": refused(chat(stream=True, extra_headers=ordered(error=4))),
    "chat stream, cut": refused(chat(stream=True, extra_headers=ordered(cut=4))),
    "chat stream, caller fails": raised_inside("chat"),
    "chat stream, after with": streamed("chat", stream_options={"include_usage": True}),
    "chat raw": raw("chat"),
    "chat raw stream": raw("chat", stream=True),
    "chat streaming response": streaming_response("chat"),
    "chat streaming response stream": streaming_response("chat", stream=True),
    "chat parse": parsed("chat"),
    "chat helper": helper("chat"),
    "chat helper, tool": helper("chat", tools=[TOOL], extra_headers=ordered(tools=1)),
    "responses": response(),
    "responses, many arguments": response(
        temperature=0.5, top_p=0.9, max_output_tokens=100, service_tier="flex", reasoning={"effort": "low"}, user="u"
    ),
    "responses, conversation": response(conversation="conv_1"),
    "responses, previous": response(previous_response_id="resp_0"),
    "responses, cached": response(extra_headers=ordered(cached=1)),
    "responses, tool": response(tools=[RESPONSE_TOOL], extra_headers=ordered(tools=1)),
    "responses, messages": response(input=MESSAGES),
    "responses, background": response(background=True),
    "responses, schema": response(text={"format": {"type": "json_object"}}),
    "responses, 404": refused(response(extra_headers=ordered(status=404))),
    "responses stream": response(stream=True),
    "responses stream, cached": response(stream=True, extra_headers=ordered(cached=1)),
    "responses stream, tool": response(stream=True, tools=[RESPONSE_TOOL], extra_headers=ordered(tools=1)),
    "responses stream, failed": response(stream=True, extra_headers=ordered(failed=1)),
    "responses stream, incomplete": response(stream=True, extra_headers=ordered(incomplete=1)),
    "responses stream, error": refused(response(stream=True, extra_headers=ordered(error=5))),
    "responses stream, cut": refused(response(stream=True, extra_headers=ordered(cut=5))),
    "responses stream, left": streamed("responses", most=6),
    "responses stream, closed": closed("responses"),
    "responses stream, caller fails": raised_inside("responses"),
    "responses raw": raw("responses"),
    "responses raw stream": raw("responses", stream=True),
    "responses streaming response": streaming_response("responses"),
    "responses streaming response stream": streaming_response("responses", stream=True),
    "responses parse": parsed("responses"),
    "responses helper": helper("responses"),
    "responses retrieve": retrieved(),
    "responses retrieve stream": retrieved(stream=True),
    "responses retrieve stream, cursor": retrieved(stream=True, starting_after=3),
    "embeddings": embedding(),
    "embeddings, list": embedding(input=["a", "b"]),
    "embeddings, float": embedding(encoding_format="float"),
    "embeddings, dimensions": embedding(dimensions=8),
    "embeddings, 401": refused(embedding(extra_headers=ordered(status=401))),
    "embeddings raw": raw("embeddings"),
}
MODELS = (MODEL,)
