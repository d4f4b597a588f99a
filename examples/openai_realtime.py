"""The telemetry of a websocket session with OpenAI's Realtime API: one span, with the tokens of all its responses.

    python -m examples.openai_realtime

The server is a websocket server in this process, so that no key and no network are needed.
"""

import json
import threading
from typing import Any

import openai
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from websockets.sync.server import ServerConnection, serve

from otel_fastpath import FastpathInstrumentor


def answer(connection: ServerConnection) -> None:
    """The server's side of a session: each question gets a response."""
    session = {"id": "sess_1", "type": "realtime", "model": "gpt-realtime"}
    connection.send(json.dumps({"type": "session.created", "event_id": "event_0", "session": session}))
    for number, _ in enumerate(connection):
        usage = {"total_tokens": 42, "input_tokens": 30, "output_tokens": 12}
        response = {"id": f"resp_{number}", "status": "completed", "output": [], "usage": usage}
        connection.send(json.dumps({"type": "response.done", "event_id": f"event_{number}", "response": response}))


def talk(client: openai.OpenAI) -> None:
    """The calls of a service, which does not use OpenTelemetry itself."""
    with client.realtime.connect(model="gpt-realtime") as connection:
        connection.recv()
        for _ in range(3):
            connection.response.create()
            print(connection.recv().type)


def main() -> None:
    """Run a session and print its telemetry."""
    exporter = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracers)
    FastpathInstrumentor().instrument(openai="on")

    with serve(answer, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url: Any = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/v1"
        with openai.OpenAI(websocket_base_url=url, api_key="sk-example") as client:
            talk(client)

    for span in exporter.get_finished_spans():
        print(span.name)
        for name, value in sorted((span.attributes or {}).items()):
            print(f"    {name} = {json.dumps(value)}")


if __name__ == "__main__":
    main()
