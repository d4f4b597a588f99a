"""What the endpoints answer in pieces: the events of a stream, and what goes wrong with one on order."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
from typing import TYPE_CHECKING, Any

from . import answers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from starlette.requests import Request

    from .orders import Orders

Event = dict[str, Any]


class CutError(Exception):
    """Makes the server drop the connection with the body unfinished."""


def chat(body: Event, orders: Orders) -> Iterator[Event]:
    """The chunks of a chat completion: role, content or a tool call, end, usage."""
    wanted = bool((body.get("stream_options") or {}).get("include_usage"))
    head = {**answers.chat_head("chat.completion.chunk", body), **({"usage": None} if wanted else {})}

    def chunk(delta: Event, reason: str | None = None, index: int = 0) -> Event:
        return {**head, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}]}

    said = answers.words(orders)
    for index in range(body.get("n") or 1):
        yield chunk({"role": "assistant", "content": None if orders.tools else "", "refusal": None}, index=index)
        if orders.tools:
            call = answers.tool_call(body)
            start = {
                "index": 0,
                "id": call["id"],
                "type": "function",
                "function": {**call["function"], "arguments": ""},
            }
            yield chunk({"tool_calls": [start]}, index=index)
            for part in ('{"item"', ": 17}"):
                yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}, index=index)
        elif body.get("response_format"):
            yield chunk({"content": '{"item": 17}'}, index=index)
        else:
            for position, word in enumerate(said):
                yield chunk({"content": word if position == 0 else f" {word}"}, index=index)
        yield chunk({}, "tool_calls" if orders.tools else "stop", index)
    if wanted:
        yield {**head, "choices": [], "usage": answers.chat_usage(orders, len(said))}


def completion(body: Event, orders: Orders) -> Iterator[Event]:
    """The pieces of a legacy completion."""
    whole = {key: value for key, value in answers.completion(body, orders).items() if key != "usage"}
    for word in answers.words(orders):
        yield {**whole, "choices": [{"text": word, "index": 0, "logprobs": None, "finish_reason": None}]}
    yield {**whole, "choices": [{"text": "", "index": 0, "logprobs": None, "finish_reason": "length"}]}


def response(body: Event, orders: Orders) -> Iterator[Event]:
    """The events of a response."""
    numbers = itertools.count()

    def event(kind: str, **data: Any) -> Event:
        return {"type": f"response.{kind}", "sequence_number": next(numbers), **data}

    yield event("created", response=answers.response(body, orders, "in_progress"))
    yield event("in_progress", response=answers.response(body, orders, "in_progress"))
    item = answers.output(body, orders)[0]
    place = {"item_id": item["id"], "output_index": 0}
    empty = {**item, "arguments": ""} if orders.tools else answers.output(body, orders, done=False)[0]
    yield event("output_item.added", output_index=0, item=empty)
    if orders.tools:
        for part in ('{"item"', ": 17}"):
            yield event("function_call_arguments.delta", **place, delta=part)
        yield event("function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
    else:
        yield from _text(event, place, item, answers.words(orders))
    yield event("output_item.done", output_index=0, item=item)
    status = "failed" if orders.failed else "incomplete" if orders.incomplete else "completed"
    yield event(status, response=answers.response(body, orders, status))


def _text(event: Callable[..., Event], place: Event, item: Event, said: list[str]) -> Iterator[Event]:
    place = {**place, "content_index": 0}
    part = item["content"][0]
    yield event("content_part.added", **place, part={**part, "text": ""})
    pieces = [part["text"]] if part["text"].startswith("{") else [w if not at else f" {w}" for at, w in enumerate(said)]
    for piece in pieces:
        yield event("output_text.delta", **place, delta=piece, logprobs=[])
    yield event("output_text.done", **place, text=part["text"], logprobs=[])
    yield event("content_part.done", **place, part=part)


def _image(kind: str, body: Event, orders: Orders) -> Iterator[Event]:
    """Two previews and the image."""
    whole = answers.images(body, orders)
    shown = {"b64_json": answers.PIXEL, "created_at": answers.CREATED, "size": "1024x1024", "quality": "high"}
    shown |= {"background": "opaque", "output_format": "png"}
    for index in range(2):
        yield {"type": f"{kind}.partial_image", "partial_image_index": index, **shown}
    yield {"type": f"{kind}.completed", "usage": whole["usage"], **shown}


def transcript(_body: Event, _orders: Orders) -> Iterator[Event]:
    """What was said, as it is said."""
    for word in ("this", " is", " it"):
        yield {"type": "transcript.text.delta", "delta": word}
    yield {"type": "transcript.text.done", "text": "this is it"}


# Path below /v1 -> its events; whether they are named in an `event:` line and end without [DONE].
STREAMED: Mapping[str, tuple[Callable[[Event, Orders], Iterator[Event]], bool]] = {
    "chat/completions": (chat, False),
    "completions": (completion, False),
    "responses": (response, True),
    "images/generations": (functools.partial(_image, "image_generation"), True),
    "images/edits": (functools.partial(_image, "image_edit"), True),
    "audio/transcriptions": (transcript, True),
}
_ERROR = {"message": "The server had an error.", "type": "server_error", "param": None, "code": "server_error"}


def _spoilt(event: Event, at: int, orders: Orders) -> Event:
    if at == orders.no_index:
        return {**event, "choices": [{k: v for k, v in each.items() if k != "index"} for each in event["choices"]]}
    return {**event, "choices": None} if at == orders.null_choices else event


async def sent(request: Request, path: str, body: Event, orders: Orders) -> AsyncIterator[bytes]:
    """The body of a stream.

    Raises:
        CutError: As ordered.
    """
    events, is_named = STREAMED[path]
    for at, event in enumerate(events(body, orders)):
        if at == orders.cut:
            raise CutError
        if at == orders.hold:
            while not await request.is_disconnected():  # noqa: ASYNC110  # there is nothing else to ask
                await asyncio.sleep(0.01)
            return
        if at == orders.error:
            yield _line("error" if is_named else "", {"error": _ERROR})
            return
        if at == orders.no_json:
            yield b"data: {no json\n\n"
        else:
            yield _line(event["type"] if is_named else "", _spoilt(event, at, orders))
        if orders.slow:
            await asyncio.sleep(orders.slow / 1000)
    if not is_named:
        yield b"data: [DONE]\n\n"


def _line(name: str, data: Event) -> bytes:
    text = f"data: {json.dumps(data, separators=(',', ':'))}\n\n"
    return (f"event: {name}\n{text}" if name else text).encode()
