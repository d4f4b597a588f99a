"""Messages of Anthropic's client, at once and streamed; its transport answers in the process."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
from opentelemetry import trace
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultcheck.host import Host

_ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
_USAGE = {"input_tokens": 3, "output_tokens": 4}
_TEXT = {"type": "text", "text": ""}
_TOOL = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}


def _message(*content: Any) -> dict[str, Any]:
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "m-1", "content": list(content)}
    return {**head, "stop_reason": "end_turn" if content else None, "stop_sequence": None, "usage": _USAGE}


def _events(*, is_odd: bool) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message()}
    yield {"type": "content_block_start", "index": 0, "content_block": _TEXT}
    for piece in ("Hel", "lo"):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
    yield {"type": "content_block_start", "index": 1, "content_block": _TOOL}
    for piece in ('{"a": ', "1}"):
        delta = {"type": "input_json_delta", "partial_json": piece}
        yield {"type": "content_block_delta", "index": 1, "delta": delta}
    yield {"type": "content_block_stop", "index": 1}
    if is_odd:
        yield {"type": "content_block_start", "index": 2, "content_block": {"type": "redacted_thinking", "data": "x"}}
    usage = {"output_tokens": 7}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


class AnthropicMessages(Workload):
    """Messages of both clients that succeed, fail, are streamed and are cut off."""

    about = ("otel_fastpath/genai/anthropic/", "otel_fastpath/others/genai_calls/stream_reading")

    def prepare(self) -> None:
        """The clients' answers come from this workload, and so do the spans go there."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.answer: Any = None

        def handle(_request: Any) -> Any:
            if isinstance(self.answer, int):
                return httpx2.Response(self.answer, json={"error": {"type": "api_error", "message": "no"}})
            if isinstance(self.answer, dict):
                return httpx2.Response(200, json=self.answer)
            lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in self.answer]
            return httpx2.Response(200, content="".join(lines).encode(), headers={"content-type": "text/event-stream"})

        self.transport = httpx2.MockTransport(handle)

    def begin(self) -> None:
        """The clients are instrumented."""
        AnthropicInstrumentor().instrument(**self.telemetry.providers())
        given: dict[str, Any] = {"api_key": "sk", "max_retries": 0, "open_telemetry": False}
        self.client = anthropic.Anthropic(**given, http_client=httpx2.Client(transport=self.transport))
        self.async_given = given

    def run(self, host: Host) -> None:
        """Ask, twice."""
        for turn in ("first", "again"):
            host.step(f"{turn}: a message", self._create, _message(_TEXT))
            host.step(f"{turn}: refused", self._create, 529)
            host.step(f"{turn}: a message, async", self._create_soon, _message(_TEXT))
            host.step(f"{turn}: refused, async", self._create_soon, 529)
            for name, is_odd in (("plain", False), ("odd", True)):
                found = list(_events(is_odd=is_odd))
                host.step(f"{turn}: a stream, {name}", self._stream, found, 99)
                host.step(f"{turn}: a stream that is left, {name}", self._stream, found, 4)
                host.step(f"{turn}: a stream, async, {name}", self._stream_soon, found)

    def _create(self, answer: Any) -> Any:
        self.answer = answer
        made = self.client.messages.create(**_ASKED)
        return made.stop_reason, trace.get_current_span().is_recording()

    def _stream(self, found: Any, most: int) -> Any:
        self.answer = found
        kinds = []
        with self.client.messages.create(**_ASKED, stream=True) as made:
            for event in made:
                kinds.append(event.type)
                if len(kinds) > most:
                    break
        return kinds, trace.get_current_span().is_recording()

    def _create_soon(self, answer: Any) -> Any:
        self.answer = answer
        return asyncio.run(self._created(stream=False))

    def _stream_soon(self, found: Any) -> Any:
        self.answer = found
        return asyncio.run(self._created(stream=True))

    async def _created(self, *, stream: bool) -> Any:
        async with httpx2.AsyncClient(transport=self.transport) as http:
            client = anthropic.AsyncAnthropic(**self.async_given, http_client=http)
            made = await client.messages.create(**_ASKED, stream=stream)
            kinds = [event.type async for event in made] if stream else [made.stop_reason]
        return kinds, trace.get_current_span().is_recording()
