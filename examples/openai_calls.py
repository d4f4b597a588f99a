"""The telemetry of OpenAI calls: a chat, a stream, a tool call, embeddings, and a call that fails.

    python -m examples.openai_calls

The server is `examples.openai_server`, in this process, so that no key and no network are needed.
"""

import json
import socket
import threading
from contextlib import suppress
from typing import Any

import openai
import uvicorn
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from examples.openai_server import app
from otel_fastpath import FastpathInstrumentor

QUESTION: Any = [{"role": "user", "content": "What is item 17 made of?"}]
TOOL: Any = {
    "type": "function",
    "function": {"name": "find_item", "parameters": {"type": "object", "properties": {"item": {"type": "integer"}}}},
}


def serve() -> str:
    """Start the server on a port of its own; gives its base URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    threading.Thread(target=server.run, args=([listening],), daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def calls(client: openai.OpenAI) -> None:
    """The calls of a service, which does not use OpenTelemetry itself."""
    client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION, temperature=0.2)
    usage: Any = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION, stream=True, stream_options=usage):
        pass
    client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION, tools=[TOOL])
    client.embeddings.create(model="text-embedding-3-small", input="a chair")
    with suppress(openai.NotFoundError):
        client.chat.completions.create(model="gpt-none", messages=QUESTION)
    client.models.list()


def main() -> None:
    """Make the calls and print their telemetry."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider([reader]))
    FastpathInstrumentor().instrument(openai="on")

    with openai.OpenAI(base_url=serve(), api_key="sk-example") as client:
        calls(client)

    for span in exporter.get_finished_spans():
        print(span.name)
        for name, value in sorted((span.attributes or {}).items()):
            print(f"    {name} = {json.dumps(value)}")
    data: Any = reader.get_metrics_data()
    for resource in data.resource_metrics:
        for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
            points = list(metric.data.data_points)
            if metric.name.startswith("gen_ai."):
                print(f"{metric.name}: {sum(each.count for each in points)} in {len(points)} series")


if __name__ == "__main__":
    main()
