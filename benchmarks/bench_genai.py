"""Calls of an LLM through `opentelemetry-util-genai`, which OpenTelemetry's instrumentations use.

    python benchmarks/bench_genai.py                the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'genai*'

The set-ups are `stock`, `pure` and `compiled`. Spans and events go to batch processors whose threads never wake, and
metrics to a reader that is never read. The messages are the instrumentations' own: they exist before.
"""

from __future__ import annotations

import sys
from typing import Any

import bench_logs
from bench_span import batching, nothing
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.util.genai import handler, types
from setups import instrument

__all__ = ["nothing"]

WORDS = "solid wood lasts for years when it is looked after with care "
MODE = types.ContentCapturingMode
MODEL = "gpt-4o-mini"


class Given:
    """The objects that the callables of this file use.

    Attributes:
        off: A handler that captures no content.
        on: One that captures it on spans and in events.
        asked: What is sent to the model.
        answered: What it answers.
        error: An exception of a failed call.
    """

    def __init__(self) -> None:
        self.spans = batching()
        self.logs, _ = bench_logs.batching()
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        self.off, self.on = self.handle(MODE.NO_CONTENT), self.handle(MODE.SPAN_AND_EVENT)
        text = types.TextPart(WORDS * 4)
        call = types.ToolCallRequestPart(arguments={"city": "Paris", "days": 3}, name="weather", id="call_1")
        result = types.ToolCallResponsePart(response='{"sun": true}', id="call_1")
        self.asked = [
            types.InputMessage("user", [text]),
            types.InputMessage("assistant", [call]),
            types.InputMessage("tool", [result]),
        ]
        self.told = [types.TextPart("You sell furniture.")]
        self.answered = [types.OutputMessage("assistant", [text], "stop")]
        self.error = ValueError("no such model")

    def handle(self, mode: Any) -> handler.TelemetryHandler:
        """A handler with this content mode."""
        made = handler.TelemetryHandler(
            self.spans, self.meters, self.logs, instrumentation_scope_name="bench", instrumentation_scope_version="1"
        )
        made._content_capturing_mode = mode
        return made


def stock() -> Given:
    """Unpatched OpenTelemetry."""
    return Given()


def pure() -> Given:
    """otel-fastpath with the pure core."""
    instrument("py")
    return Given()


def compiled() -> Given:
    """otel-fastpath with the compiled core."""
    instrument("c")
    return Given()


def _start(using: handler.TelemetryHandler) -> Any:
    invocation = using.inference("openai", request_model=MODEL, server_address="api.openai.com", server_port=443)
    invocation.temperature = 0.5
    invocation.max_tokens = 200
    return invocation


def _answer(invocation: Any) -> None:
    invocation.response_model_name = "gpt-4o-mini-2024-07-18"
    invocation.response_id = "chatcmpl-1"
    invocation.finish_reasons = ["stop"]
    invocation.input_tokens = 64
    invocation.output_tokens = 60


def chat(given: Given) -> None:
    """A call without content."""
    invocation = _start(given.off)
    _answer(invocation)
    invocation.stop()


def chat_fails(given: Given) -> None:
    """One that fails."""
    _start(given.off).fail(given.error)


def chat_content(given: Given) -> None:
    """A call with content on the span and in an event."""
    invocation = _start(given.on)
    invocation.input_messages = given.asked
    invocation.system_instruction = given.told
    _answer(invocation)
    invocation.output_messages = given.answered
    invocation.stop()


def chat_streamed(given: Given) -> None:
    """A call whose answer comes in 20 chunks."""
    invocation = _start(given.off)
    for _ in range(20):
        invocation.record_stream_chunk()
    _answer(invocation)
    invocation.stop()


def chat_within(given: Given) -> None:
    """A call inside another one, as a framework's instrumentation above a client's has it: one span."""
    with given.off.inference("langchain", request_model=MODEL):
        chat(given)


def embed(given: Given) -> None:
    """An embedding."""
    invocation = given.off.embedding("openai", request_model="text-embedding-3-small")
    invocation.input_tokens = 8
    invocation.stop()


def use_tool(given: Given) -> None:
    """A tool that the model asked for."""
    with given.off.tool("weather", tool_type="function") as invocation:
        invocation.tool_call_id = "call_1"


# Row of the table -> bare and instrumented.
ROWS = {
    "genai, chat": (nothing, chat),
    "genai, chat fails": (nothing, chat_fails),
    "genai, chat with content": (nothing, chat_content),
    "genai, chat streamed": (nothing, chat_streamed),
    "genai, chat within another": (nothing, chat_within),
    "genai, embedding": (nothing, embed),
    "genai, tool": (nothing, use_tool),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Calls of LLMs", "bench_genai", ROWS, ("stock", "pure", "compiled")))
