"""Calls of Anthropic's client: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_anthropic.py             the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'anthropic*'

The set-ups are `stock`, `pure` and `compiled`. The client is the real one; its transport answers in this process. The
bare call is that of the client's own method, without the instrumentation's wrapper. The rows "with the client's own
span" also have the span that the client makes itself.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import anthropic
import bench_logs
import httpx2
from anthropic.resources.messages import Messages
from bench_span import batching
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from setups import ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

EVENTS = 20
WORDS = "solid wood lasts for years when it is looked after with care "
MODEL = "claude-opus-5"
ASKED: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 200,
    "stop_sequences": ["###"],
    "system": "You sell furniture.",
    "messages": [{"role": "user", "content": WORDS * 4}],
}
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_USAGE = {"input_tokens": 64, "output_tokens": 60, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def answer(content: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    """A message of the model."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": f"{MODEL}-20261101", "content": content}
    return {**head, "stop_reason": reason, "stop_sequence": None, "usage": {**_USAGE, "service_tier": "standard"}}


def events(count: int) -> Iterator[dict[str, Any]]:
    """The events of a streamed one: with 20 pieces of text, there are 25."""
    yield {"type": "message_start", "message": answer([], None)}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for _ in range(count):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "wood "}}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 60},
    }
    yield {"type": "message_stop"}


def _bodies() -> dict[bool, tuple[str, bytes]]:
    """The type and the body of each answer, by whether it is streamed."""
    plain = json.dumps(answer([{"type": "text", "text": WORDS * 4}], "end_turn")).encode()
    streamed = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events(EVENTS)).encode()
    return {False: ("application/json", plain), True: ("text/event-stream", streamed)}


class Given:
    """The objects that the callables of this file use.

    Attributes:
        client: The client, which makes no span itself.
        tracing: One that does.
    """

    def __init__(self, content: str = "") -> None:
        os.environ[CAPTURE] = content
        bodies = _bodies()

        def handle(request: Any) -> Any:
            kind, body = bodies[b'"stream":true' in request.content]
            return httpx2.Response(200, content=body, headers={"content-type": kind})

        self.spans = batching()
        self.logs, _ = bench_logs.batching()
        self.meters = MeterProvider(metric_readers=[InMemoryMetricReader()], shutdown_on_exit=False)
        transport = httpx2.Client(transport=httpx2.MockTransport(handle))
        key: dict[str, Any] = {"api_key": "sk-bench", "max_retries": 0, "http_client": transport}
        self.client = anthropic.Anthropic(**key, open_telemetry=False)
        self.tracing = anthropic.Anthropic(**key, open_telemetry={"tracer_provider": self.spans})
        AnthropicInstrumentor().instrument(
            tracer_provider=self.spans, meter_provider=self.meters, logger_provider=self.logs
        )
        self.create, self.stream = _own(Messages.create), _own(Messages.stream)


class Capturing(Given):
    """The same, with content on spans and in events."""

    def __init__(self) -> None:
        super().__init__("span_and_event")


def _own(method: Any) -> Callable[..., Any]:
    """The client's own method, below the instrumentation."""
    found: Callable[..., Any] = method.__wrapped__
    return found


stock, pure, compiled = ways(Given)
stock_content, pure_content, compiled_content = ways(Capturing)


def create_bare(given: Given) -> None:
    """A message, without the instrumentation."""
    given.create(given.client.messages, **ASKED)


def create(given: Given) -> None:
    """One with it."""
    given.client.messages.create(**ASKED)


def create_tracing(given: Given) -> None:
    """One with the client's own span."""
    given.tracing.messages.create(**ASKED)


def _read(events: Any) -> None:
    for _ in events:
        pass


def stream_bare(given: Given) -> None:
    """A streamed message, without the instrumentation."""
    _read(given.create(given.client.messages, **ASKED, stream=True))


def stream(given: Given) -> None:
    """One with it."""
    _read(given.client.messages.create(**ASKED, stream=True))


def stream_tracing(given: Given) -> None:
    """One with the client's own span."""
    _read(given.tracing.messages.create(**ASKED, stream=True))


def _manage(manager: AbstractContextManager[Any]) -> None:
    with manager as found:
        _read(found)


def managed_bare(given: Given) -> None:
    """A message that the client puts together itself, without the instrumentation."""
    _manage(given.stream(given.client.messages, **ASKED))


def managed(given: Given) -> None:
    """One with it."""
    _manage(given.client.messages.stream(**ASKED))


# Row of the table -> bare and instrumented.
ROWS = {
    "anthropic, create": (create_bare, create),
    "anthropic, create with the client's own span": (create_bare, create_tracing),
    "anthropic, stream of 25 events": (stream_bare, stream),
    "anthropic, stream of 25 events with the client's own span": (stream_bare, stream_tracing),
    "anthropic, stream helper": (managed_bare, managed),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Calls of Anthropic", "bench_anthropic", ROWS, ("stock", "pure", "compiled")))
