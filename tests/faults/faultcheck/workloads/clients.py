"""OpenAI's client, whose requests are answered in the process: calls and streams, with content captured."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import openai
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

try:
    import httpx2 as http
except ModuleNotFoundError:  # releases of openai before 3 are made on httpx
    import httpx as http

if TYPE_CHECKING:
    from faultcheck.host import Host

_MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
_ASK = {"model": "gpt-4o", "messages": _MESSAGES, "temperature": 0.5, "tools": [_TOOL]}
_USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-2024",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello.", "tool_calls": [_CALL]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": _USAGE,
}
_RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-4o-2024",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
_EMBEDDINGS = {
    "object": "list",
    "model": "text-embedding-3",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}
_MODELS = {"object": "list", "data": [{"id": "gpt-4o", "object": "model", "created": 1, "owned_by": "x"}]}


def _chunk(delta: Any = None, finish: Any = None, usage: Any = None) -> dict[str, Any]:
    choices = [] if usage else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-2024"}
    return {**head, "choices": choices, "usage": usage}


_PART = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CHUNKS = [
    _chunk({"role": "assistant", "content": "He"}),
    _chunk({"content": "llo"}),
    _chunk({"tool_calls": [_PART]}),
    _chunk(finish="stop"),
    _chunk(usage=_USAGE),
]
_EVENTS = [
    {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "delta": "Hello.", "item_id": "m1", "output_index": 0, "content_index": 0},
    {"type": "response.completed", "response": _RESPONSE},
]
_FAILING = "failing"
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def _stream(lines: list[dict[str, Any]]) -> http.Response:
    sent = [(f"event: {each['type']}\n" if "type" in each else "") + f"data: {json.dumps(each)}\n\n" for each in lines]
    content = ("".join(sent) + ("" if "type" in lines[0] else "data: [DONE]\n\n")).encode()
    return http.Response(200, content=content, headers={"content-type": "text/event-stream"})


def _answer(request: Any) -> http.Response:
    body = json.loads(request.content) if request.content else {}
    if body.get("model") == _FAILING:
        return http.Response(404, json={"error": {"message": "no", "code": "gone"}})
    if body.get("model") == "broken":
        return http.Response(200, content=b'data: {"choices"\n\n', headers={"content-type": "text/event-stream"})
    if request.url.path.endswith("/responses"):
        return _stream(_EVENTS) if body.get("stream") else http.Response(200, json=_RESPONSE)
    if request.url.path.endswith("/embeddings"):
        return http.Response(200, json=_EMBEDDINGS)
    if request.url.path.endswith("/models"):
        return http.Response(200, json=_MODELS)
    return _stream(_CHUNKS) if body.get("stream") else http.Response(200, json=_CHAT)


_CLIENT: dict[str, Any] = {"api_key": "sk-test", "base_url": "http://localhost:9/v1", "max_retries": 0}


_ABOUT = (
    "otel_fastpath/wrapping/wrappers.py",
    "otel_fastpath/wrapping/call.py",
    "otel_fastpath/wrapping/library.py",
    "otel_fastpath/db/",
    "otel_fastpath/genai/",
)


class OpenAI(Workload):
    """Calls of the synchronous client."""

    about = _ABOUT

    def prepare(self) -> None:
        """Where the spans go; content is captured in spans and events."""
        os.environ[_CAPTURE] = "span_and_event"
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))

    def begin(self) -> None:
        """A client."""
        self.tracer = self.telemetry.tracer_provider.get_tracer("host")
        self.client = openai.OpenAI(**_CLIENT, http_client=http.Client(transport=http.MockTransport(_answer)))

    def run(self, host: Host) -> None:
        """Calls that succeed, and some that do not."""
        client = self.client
        host.step("chat", lambda: client.chat.completions.create(**_ASK).choices[0].message.content)
        host.step("chat again", lambda: client.chat.completions.create(**_ASK).id)
        host.step("current span", self._current)
        host.step("responses", lambda: client.responses.create(model="gpt-4o", input="Hi").output_text)
        host.step("embeddings", lambda: len(client.embeddings.create(model="e", input="Hi").data))
        host.step("models", lambda: [each.id for each in client.models.list()])
        host.step("raw", lambda: client.chat.completions.with_raw_response.create(**_ASK).parse().id)
        host.step("raw stream of a body", self._body)
        host.step("not found", lambda: client.chat.completions.create(**{**_ASK, "model": _FAILING}))
        host.step("raises on the way", self._raises, host)
        host.step("not understood", lambda: client.chat.completions.create(model="x", messages=object()))

    def _current(self) -> Any:
        with self.tracer.start_as_current_span("host's own") as span:
            self.client.chat.completions.create(**_ASK)
            return trace.get_current_span() is span

    def _body(self) -> Any:
        with self.client.chat.completions.with_streaming_response.create(**_ASK) as response:
            return json.loads(response.read())["id"]

    def _raises(self, host: Host) -> Any:
        error = host.error()

        def fail(_request: Any) -> None:
            raise error

        self.client._client.event_hooks = {"request": [fail]}
        try:
            self.client.chat.completions.create(**_ASK)
        except openai.APIConnectionError as caught:
            return caught.__cause__ is error
        finally:
            self.client._client.event_hooks = {}
        return None


class OpenAIStreams(OpenAI):
    """Streams of the synchronous client."""

    def run(self, host: Host) -> None:
        """Read, left, given up, broken."""
        host.step("read", self._read)
        host.step("by hand", self._by_hand)
        host.step("in a with", self._within)
        host.step("left", self._left)
        host.step("raises inside", self._raises_inside, host)
        host.step("closed", self._closed)
        host.step("given up", self._given_up)
        host.step("responses", self._responses)
        host.step("helper", self._helper)
        host.step("responses helper", self._responses_helper)
        host.step("raw", self._raw)
        host.step("not found", lambda: self.client.chat.completions.create(**{**_ASK, "model": _FAILING}, stream=True))
        host.step(
            "broken", lambda: len(list(self.client.chat.completions.create(**{**_ASK, "model": "broken"}, stream=True)))
        )

    def _open(self) -> Any:
        return self.client.chat.completions.create(**_ASK, stream=True)

    def _read(self) -> Any:
        with self.tracer.start_as_current_span("host's own") as span:
            found = [bool(each.choices) for each in self._open()]
            return found, trace.get_current_span() is span

    def _by_hand(self) -> Any:
        stream = self._open()
        found = next(stream).id
        return found, [each.id for each in stream], type(stream).__name__

    def _within(self) -> Any:
        with self._open() as stream:
            return len(list(stream))

    def _left(self) -> Any:
        with self._open() as stream:
            return next(stream).id

    def _raises_inside(self, host: Host) -> Any:
        with self._open() as stream:
            next(stream)
            raise host.error()

    def _closed(self) -> Any:
        stream = self._open()
        next(stream)
        stream.close()

    def _given_up(self) -> Any:
        return next(self._open()).id

    def _responses(self) -> Any:
        return [each.type for each in self.client.responses.create(model="gpt-4o", input="Hi", stream=True)]

    def _helper(self) -> Any:
        with self.client.chat.completions.stream(model="gpt-4o", messages=_MESSAGES) as stream:
            return len(list(stream)), stream.get_final_completion().id

    def _responses_helper(self) -> Any:
        with self.client.responses.stream(model="gpt-4o", input="Hi") as stream:
            return len(list(stream)), stream.get_final_response().id

    def _raw(self) -> Any:
        stream = self.client.chat.completions.with_raw_response.create(**_ASK, stream=True).parse()
        return len(list(stream))


class OpenAIAsync(Workload):
    """Calls and streams of the asynchronous client."""

    about = _ABOUT

    def prepare(self) -> None:
        """As above."""
        os.environ[_CAPTURE] = "span_and_event"
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))

    def begin(self) -> None:
        """What the host has around its calls."""
        self.tracer = self.telemetry.tracer_provider.get_tracer("host")

    def run(self, host: Host) -> None:
        """In an event loop of its own, with a client of its own."""

        async def main() -> None:
            transport = http.AsyncClient(transport=http.MockTransport(_answer))
            async with openai.AsyncOpenAI(**_CLIENT, http_client=transport) as self.client:
                await self._calls(host)
                await self._streams(host)

        asyncio.run(main())

    async def _calls(self, host: Host) -> None:
        create, client = self.client.chat.completions.create, self.client
        await host.astep("chat", self._id, lambda: create(**_ASK))
        await host.astep("current span", self._current)
        await host.astep("responses", self._id, lambda: client.responses.create(model="gpt-4o", input="Hi"))
        await host.astep("not found", lambda: create(**{**_ASK, "model": _FAILING}))
        await host.astep("raw", self._raw)
        await host.astep("cancelled", self._cancelled)

    async def _streams(self, host: Host) -> None:
        await host.astep("read", self._read)
        await host.astep("left", self._left)
        await host.astep("raises inside", self._raises_inside, host)
        await host.astep("closed", self._closed)
        await host.astep("responses stream", self._responses)
        await host.astep("helper", self._helper)

    async def _id(self, call: Any) -> Any:
        return (await call()).id

    async def _current(self) -> Any:
        with self.tracer.start_as_current_span("host's own") as span:
            await self.client.chat.completions.create(**_ASK)
            return trace.get_current_span() is span

    async def _raw(self) -> Any:
        return (await self.client.chat.completions.with_raw_response.create(**_ASK)).parse().id

    async def _cancelled(self) -> Any:
        task = asyncio.ensure_future(self.client.chat.completions.create(**_ASK))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "ended"

    async def _open(self) -> Any:
        return await self.client.chat.completions.create(**_ASK, stream=True)

    async def _read(self) -> Any:
        with self.tracer.start_as_current_span("host's own") as span:
            found = [bool(each.choices) async for each in await self._open()]
            return found, trace.get_current_span() is span

    async def _left(self) -> Any:
        async with await self._open() as stream:
            return (await stream.__anext__()).id

    async def _raises_inside(self, host: Host) -> Any:
        async with await self._open() as stream:
            await stream.__anext__()
            raise host.error()

    async def _closed(self) -> Any:
        stream = await self._open()
        await stream.__anext__()
        await stream.close()

    async def _responses(self) -> Any:
        stream = await self.client.responses.create(model="gpt-4o", input="Hi", stream=True)
        return [each.type async for each in stream]

    async def _helper(self) -> Any:
        async with self.client.chat.completions.stream(model="gpt-4o", messages=_MESSAGES) as stream:
            return len([each async for each in stream])
