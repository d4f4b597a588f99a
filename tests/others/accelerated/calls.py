"""Calls a model through somebody else's instrumentation and prints, as JSON, what was emitted and what it took.

python calls.py BASE_URL traceloop|openinference stock|first|last
"""
# ruff: noqa: T201, PERF203  # a program that prints, and goes on after what is raised

from __future__ import annotations

import asyncio
import copy
import json
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import pydantic
from opentelemetry import context, metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

sys.path.insert(0, str(Path(__file__).parents[2] / "genai" / "openai_http"))

from loopback.orders import ordered
from surface import CHAT, RESPONSE, TOOL

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}
SMALL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
PICTURES = {**CHAT, "messages": [{"role": "user", "content": [{"type": "text", "text": "Look"}, IMAGE, SMALL]}]}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
TOOLS = {**CHAT, "tools": [TOOL], "extra_headers": ordered(tools=1)}
# (resource, arguments): each is called synchronously, asynchronously, and synchronously inside of a running loop.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("chat", CHAT),
    ("chat", {**CHAT, "n": 3, "temperature": 0.5, "extra_headers": ordered(cached=1)}),
    ("chat", TOOLS),
    ("chat", PICTURES),
    ("chat", {**CHAT, "extra_headers": ordered(status=429)}),
    ("chat", {**CHAT, **USAGE}),
    ("chat", {**CHAT, **USAGE, "n": 2}),
    ("chat", {**TOOLS, **USAGE}),
    ("chat", {**CHAT, "stream": True, "extra_headers": ordered(error=4)}),
    ("chat", {**CHAT, "stream": True, "extra_headers": ordered(null_choices=3)}),
    ("responses", RESPONSE),
    ("responses", {**RESPONSE, "stream": True}),
    ("embeddings", {"model": "text-embedding-3-small", "input": ["a", "b"], "encoding_format": "float"}),
    ("completions", {"model": "davinci-002", "prompt": "A chair"}),
    ("completions", {"model": "davinci-002", "prompt": "A chair", "stream": True}),
)


class Spent:
    """What a run of calls took: event loops started, requests copied, filters of warnings changed, models dumped."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.forget()
        self._count(pydantic.BaseModel, "model_dump", "dumps")
        self._count(asyncio, "run", "loops")
        self._count(copy, "deepcopy", "copies")
        self._count(warnings, "simplefilter", "filters")

    def forget(self) -> None:
        """Count anew."""
        self.counts.update(loops=0, copies=0, filters=0, dumps=0)

    def _count(self, module: Any, name: str, counted: str) -> None:
        original = getattr(module, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.counts[counted] += 1
            return original(*args, **kwargs)

        setattr(module, name, counting)


def method(client: Any, name: str) -> Any:
    """What is called."""
    return (client.chat.completions if name == "chat" else getattr(client, name)).create


def ask(client: Any) -> None:
    """Make every call."""
    for name, arguments in CALLS:
        try:
            answer = method(client, name)(**copy_of(arguments))
            if arguments.get("stream"):
                for _ in answer:
                    pass
        except Exception as error:
            warnings.warn(f"{name}: {type(error).__name__}", stacklevel=1)


async def ask_async(client: Any) -> None:
    """Likewise, of the asynchronous client."""
    for name, arguments in CALLS:
        try:
            answer = await method(client, name)(**copy_of(arguments))
            if arguments.get("stream"):
                async for _ in answer:
                    pass
        except Exception as error:
            warnings.warn(f"{name}: {type(error).__name__}", stacklevel=1)


def copy_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of its own for each call: Traceloop writes into the headers that it is given."""
    if "extra_headers" in arguments:
        return {**arguments, "extra_headers": dict(arguments["extra_headers"])}
    return arguments


def asked(base_url: str, run: Any) -> None:
    """Make every call in every way."""
    import openai

    settings = {"base_url": base_url, "api_key": "sk-test", "max_retries": 0}

    async def with_loop() -> None:
        async with openai.AsyncOpenAI(**settings) as client:
            await ask_async(client)
        with openai.OpenAI(**settings) as client:
            token = context.attach(context.set_value("override_enable_content_tracing", "true"))
            ask(client)
            context.detach(token)

    with openai.OpenAI(**settings) as client:
        ask(client)
    run(with_loop())


def emitted(spans: Any, reader: Any) -> dict[str, Any]:
    """Every span, and every series of metrics with how much was counted in it."""
    told = [
        [
            [span.name, span.kind.name, span.status.status_code.name, span.status.description],
            {key: str(value) for key, value in sorted(span.attributes.items())},
            [[event.name, sorted(event.attributes)] for event in span.events],
            span.parent is None,
        ]
        for span in spans.get_finished_spans()
    ]
    data = reader.get_metrics_data()
    series = sorted(
        [metric.name, sorted(map(str, point.attributes.items())), getattr(point, "count", None) or point.value]
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        if "openai" in scope.scope.name
        for metric in scope.metrics
        for point in metric.data.data_points
    )
    return {"spans": told, "series": series}


def random_chunks(seed: int) -> list[Any]:
    """Chunks as a server might send them, and as none should."""
    from openai.types.chat import ChatCompletionChunk

    pick = random.Random(seed)  # noqa: S311  # not for secrets

    def delta() -> Any:
        calls = [{"index": pick.randint(0, 2), "id": pick.choice([None, "c"]), "function": {"arguments": "{"}}]
        every: dict[str, Any] = {
            "content": pick.choice(["a", "", None]),
            "role": pick.choice(["assistant", None]),
            "tool_calls": pick.choice([None, calls]),
            "refusal": None,
            "reasoning_content": pick.choice(["b", None]),
        }
        return {key: value for key, value in every.items() if pick.random() < 0.5} if pick.random() < 0.9 else None

    def choice() -> Any:
        every = {
            "index": pick.choice([0, 0, 0, 1]),
            "delta": delta(),
            "finish_reason": pick.choice([None, None, "stop"]),
            "content_filter_results": {"a": 1},
            "usage": {"prompt_tokens": 1},
        }
        return {key: value for key, value in every.items() if key in {"index", "delta"} or pick.random() < 0.2}

    made = []
    for _ in range(pick.randint(1, 12)):
        every: dict[str, Any] = {
            "id": pick.choice(["x", "y"]),
            "model": "m",
            "created": 1,
            "object": "chat.completion.chunk",
            "usage": pick.choice([None, {"prompt_tokens": 2}]),
            "prompt_filter_results": [1],
        }
        chunk = {key: value for key, value in every.items() if pick.random() < (0.2 if "filter" in key else 0.8)}
        chunk["choices"] = [choice() for _ in range(pick.choice([0, 1, 1, 1, 2]))]
        is_raw = pick.random() < 0.1
        made.append(ChatCompletionChunk.construct(**chunk) if is_raw else built(ChatCompletionChunk, chunk))
    return made


def built(kind: Any, value: Any) -> Any:
    """As the client builds it: nested models, nothing validated."""
    from openai._models import construct_type

    return construct_type(type_=kind, value=value)


def accumulated(peer: str) -> list[Any]:
    """What the accumulator in place makes of many random streams; what it raises belongs to it."""
    found = []
    for seed in range(400):
        chunks = random_chunks(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(_traceloop(chunks) if peer == "traceloop" else _openinference(chunks))
    return found


def _traceloop(chunks: list[Any]) -> Any:
    from opentelemetry.instrumentation.openai.shared import chat_wrappers

    complete: dict[str, Any] = {"choices": [], "model": ""}
    for chunk in chunks:
        try:
            chat_wrappers._accumulate_stream_items(chunk, complete)
        except Exception as error:
            complete.setdefault("raised", []).append(repr(error))
    return complete


def _openinference(chunks: list[Any]) -> Any:
    from openai.types.chat import ChatCompletion
    from openinference.instrumentation.openai._response_accumulator import _ChatCompletionAccumulator

    made = _ChatCompletionAccumulator({}, ChatCompletion)
    raised = []
    for chunk in chunks:
        try:
            made.process_chunk(chunk)
        except Exception as error:
            raised.append(repr(error))
    try:
        return [list(made.get_attributes()), raised]
    except Exception as error:
        return [repr(error), raised]


def main() -> None:
    """Run the mode that was asked for."""
    base_url, peer, mode = sys.argv[1:]
    run = asyncio.run
    spent = Spent()
    warnings.simplefilter("ignore")
    spans, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    if mode != "stock":
        from otel_fastpath.instrumentor import FastpathInstrumentor
    if mode == "first":
        FastpathInstrumentor().instrument()
    if peer == "traceloop":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    else:
        from openinference.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument()
    if mode == "last":
        FastpathInstrumentor().instrument()
    spent.forget()
    asked(base_url, run)
    found = {"spent": dict(spent.counts), **emitted(spans, reader), "accumulated": accumulated(peer)}
    if mode != "stock":
        rows = FastpathInstrumentor().status()
        found["patches"] = {row.name: [row.state.value, row.reason] for row in rows}
        from otel_fastpath.patching import faults

        found["faults"] = faults.counts()
        FastpathInstrumentor().uninstrument()
    # The first calls import what the next have.
    spent.forget()
    asked(base_url, run)
    found["spent_after"] = dict(spent.counts)
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
