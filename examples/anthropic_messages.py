"""Messages of Anthropic's client, at once and streamed, against a server on loopback: run it to see the spans.

python -m examples.anthropic_messages
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor

MODEL = "claude-opus-5"
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": MODEL,
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 1},
}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in ("Oak", ".")),
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 3},
    },
    {"type": "message_stop"},
]


class Model(BaseHTTPRequestHandler):
    """In the place of Anthropic's servers."""

    def do_POST(self) -> None:  # the server's name for it
        """Answer, event by event if that is asked for."""
        is_streamed = json.loads(self.rfile.read(int(self.headers["content-length"]))).get("stream")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_streamed else "application/json")
        self.end_headers()
        if is_streamed:
            for event in EVENTS:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        else:
            done = {"content": [{"type": "text", "text": "Oak."}], "stop_reason": "end_turn"}
            self.wfile.write(json.dumps({**MESSAGE, **done}).encode())

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def ask(url: str) -> None:
    """Ask twice: for a message, and for its events."""
    client = anthropic.Anthropic(api_key="sk-example", base_url=url, open_telemetry=False)
    question: Any = {"model": MODEL, "max_tokens": 64, "messages": [{"role": "user", "content": "Which wood?"}]}
    client.messages.create(**question)
    for _ in client.messages.create(**question, stream=True):
        pass


def main() -> None:
    """Instrument, ask, print."""
    FastpathInstrumentor().instrument()
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    AnthropicInstrumentor().instrument(tracer_provider=provider)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()
    for span in spans.get_finished_spans():
        attributes = span.attributes or {}
        way = "streamed" if attributes.get("gen_ai.request.stream") else "at once"
        reasons: Any = attributes["gen_ai.response.finish_reasons"]
        print(f"{span.name} {way}: {', '.join(reasons)}, {attributes['gen_ai.usage.output_tokens']} tokens")


if __name__ == "__main__":
    main()
