"""Calls a model through Traceloop's instrumentation and prints, as JSON, what was looked up and what was emitted.

    python openai_calls.py BASE_URL stock|first|last|again

stock: without otel-fastpath; first: it is instrumented before the instrumentation is imported; last: after everything;
again: instrumented, uninstrumented and instrumented again.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import asyncio
import json
import sys
from importlib import metadata
from typing import Any

from counting import counted
from packaging import version as packaging_version

ORIGINALS = (metadata.version, packaging_version.parse)
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"properties": {"id": {"type": "integer"}}}}}
QUESTION = {"role": "user", "content": "What about chair 7?"}


def fastpath() -> Any:
    """Our instrumentor."""
    from otel_fastpath.instrumentor import FastpathInstrumentor

    return FastpathInstrumentor()


def providers() -> tuple[Any, Any]:
    """Keep spans and metrics of the global providers in memory."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


def ask_sync(client: Any) -> None:
    """Every kind of call that the synchronous client is instrumented for."""
    chat = {"model": "gpt-4o-mini", "messages": [QUESTION]}
    client.chat.completions.create(**chat)
    for _ in client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True}):
        pass
    message = client.chat.completions.create(**chat, tools=[TOOL]).choices[0].message
    answers = [{"role": "tool", "tool_call_id": call.id, "content": "oak"} for call in message.tool_calls]
    client.chat.completions.create(model="gpt-4o-mini", messages=[QUESTION, message, *answers])
    client.embeddings.create(model="text-embedding-3-small", input="chair")


async def ask_async(client: Any) -> None:
    """The same of the asynchronous client."""
    chat = {"model": "gpt-4o-mini", "messages": [QUESTION]}
    await client.chat.completions.create(**chat)
    async for _ in await client.chat.completions.create(**chat, stream=True):
        pass
    await client.embeddings.create(model="text-embedding-3-small", input="chair")


def ask(base_url: str) -> None:
    """A round of calls."""
    import openai

    settings = {"base_url": base_url, "api_key": "sk-test", "max_retries": 0}

    async def with_async_client() -> None:
        async with openai.AsyncOpenAI(**settings) as client:
            await ask_async(client)

    with openai.OpenAI(**settings) as client:
        ask_sync(client)
    asyncio.run(with_async_client())


def looked_up(base_url: str) -> dict[str, int]:
    """What is looked up in a round of calls."""
    with counted() as calls:
        ask(base_url)
    return dict(calls)


def emitted(spans: Any, reader: Any) -> dict[str, Any]:
    """Every span, and every series of the instrumentation's metrics with how much was counted in it."""
    told = [
        [span.name, span.kind.name, span.status.status_code.name, dict(span.attributes), [e.name for e in span.events]]
        for span in spans.get_finished_spans()
    ]
    data = reader.get_metrics_data()
    series = sorted(
        [metric.name, sorted(map(str, point.attributes.items())), getattr(point, "count", None) or point.value]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        if scope.scope.name.startswith("opentelemetry.instrumentation.openai")
        for metric in scope.metrics
        for point in metric.data.data_points
    )
    return {"spans": told, "metrics": series}


def globals_of_the_instrumentation() -> dict[str, Any]:
    """The names that are replaced, where the release has them."""
    from opentelemetry.instrumentation.openai import shared, utils

    found = {"utils.version": vars(utils).get("version"), "shared.version": vars(shared).get("version")}
    return found | {"utils.pkg_version": vars(utils).get("pkg_version")}


def main() -> None:
    """Run the mode that was asked for."""
    base_url, mode = sys.argv[1:]
    if mode in {"first", "again"}:
        fastpath().instrument()
    spans, reader = providers()
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    if mode == "last":
        fastpath().instrument()
    if mode == "again":
        fastpath().uninstrument()
        fastpath().instrument()
    # The first round may look things up for all that follow.
    found: dict[str, Any] = {"first_calls": looked_up(base_url), "calls": looked_up(base_url)}
    found |= emitted(spans, reader)
    found["application"] = (metadata.version, packaging_version.parse) == ORIGINALS
    if mode != "stock":
        found["patches"] = {row.name: [row.state.value, row.reason] for row in fastpath().status()}
        fastpath().uninstrument()
        names = globals_of_the_instrumentation()
        originals = {"utils.version": metadata.version, "shared.version": metadata.version}
        originals["utils.pkg_version"] = packaging_version  # type: ignore[assignment]
        found["restored"] = {name: value is originals[name] for name, value in names.items() if value is not None}
        found["calls_after"] = looked_up(base_url)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
