"""A call of OpenAI's client: bare, and with the stock instrumentation, OpenLLMetry's, OpenInference's and ours.

    make bench NAME=openai ARGS="--markdown build/bench/openai.md"

The client is the real one. For instructions, its transport answers in the process, spans go to a batch processor whose
thread never wakes, and metrics to a reader that is never read. CPU times are taken over HTTP on loopback, in processes
that take turns. For the budgets, `stubbed` replaces the client's own request, so that only the hook is counted.
"""

from __future__ import annotations

import base64
import json
import os
from array import array
from collections import deque
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS = 20
FLOATS = 1536
WORDS = "solid wood lasts for years when it is looked after with care "
CHAT: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "system", "content": "You sell furniture."}, {"role": "user", "content": WORDS * 4}],
    "temperature": 0.5,
    "max_tokens": 200,
}
RESPONSE: dict[str, Any] = {"model": "gpt-4o-mini", "input": WORDS * 4, "instructions": "You sell furniture."}
USAGE = {"prompt_tokens": 64, "completion_tokens": 60, "total_tokens": 124}
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Drop(SpanExporter):
    """Replaces an exporter."""

    def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002  # the interface
        """Forget them."""
        return SpanExportResult.SUCCESS


def chat_answer() -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": WORDS * 4, "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini-2024-07-18"}
    return {**head, "choices": [choice], "usage": USAGE, "service_tier": "default", "system_fingerprint": "fp_1"}


def chat_chunks(count: int) -> list[dict[str, Any]]:
    """The chunks of a streamed chat completion: role, text, end."""
    head = {**chat_answer(), "object": "chat.completion.chunk", "usage": None}
    deltas = [{"role": "assistant", "content": ""}, *({"content": "wood "} for _ in range(count)), {}]
    last = len(deltas) - 1
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": "stop" if at == last else None}]}
        for at, delta in enumerate(deltas)
    ]


def response_answer(status: str = "completed") -> dict[str, Any]:
    """A response."""
    part = {"type": "output_text", "text": WORDS * 4, "annotations": []}
    item = {"type": "message", "id": "msg_1", "status": status, "role": "assistant", "content": [part]}
    usage = {"input_tokens": 64, "output_tokens": 60, "total_tokens": 124}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-4o-mini-2024-07-18", "status": status}
    return {**head, "output": [item], "usage": {**usage, **details}, "service_tier": "default", "tools": []}


def response_events(count: int) -> list[dict[str, Any]]:
    """The events of a streamed response."""
    delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {**response_answer("in_progress"), "output": []},
        },
        *({**delta, "sequence_number": at + 1, "delta": "wood ", "logprobs": []} for at in range(count)),
        {"type": "response.completed", "sequence_number": count + 1, "response": response_answer()},
    ]


def embedding_answer() -> dict[str, Any]:
    """A vector in the encoding that the client requests."""
    packed = base64.b64encode(array("f", [at / FLOATS for at in range(FLOATS)]).tobytes()).decode()
    data = [{"object": "embedding", "index": 0, "embedding": packed}]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": usage}


def _answers() -> dict[tuple[str, int], bytes]:
    """The bodies by path and number of chunks (-1: not streamed)."""
    found = {
        ("/v1/chat/completions", -1): chat_answer(),
        ("/v1/responses", -1): response_answer(),
        ("/v1/embeddings", -1): embedding_answer(),
    }
    bodies = {key: json.dumps(answer).encode() for key, answer in found.items()}
    for count in (0, CHUNKS):
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chat_chunks(count)]
        bodies["/v1/chat/completions", count] = "".join([*lines, "data: [DONE]\n\n"]).encode()
        events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in response_events(count)]
        bodies["/v1/responses", count] = "".join(events).encode()
    return bodies


class Given:
    """The objects that the callables of this file use.

    Attributes:
        client: The real client; answers come from this process, or from the server that the environment variable names.
    """

    def __init__(self) -> None:
        import httpx2  # noqa: PLC0415  # installed with the client
        import openai  # noqa: PLC0415  # not before it is instrumented

        url = os.environ.get("BENCH_OPENAI_URL", "")
        bodies = _answers()

        def handle(request: Any) -> Any:
            count = int(request.headers.get("x-chunks", "-1"))
            kind = "application/json" if count < 0 else "text/event-stream"
            return httpx2.Response(200, content=bodies[request.url.path, count], headers={"content-type": kind})

        transport = None if url else httpx2.MockTransport(handle)
        self.client = openai.OpenAI(
            api_key="sk-bench",
            base_url=url or "http://localhost:1/v1",
            max_retries=0,
            http_client=httpx2.Client(transport=transport),
        )


def provide(*, sampled: bool) -> None:
    """Set the global providers: spans go to a queue of the default length that drops its oldest; one metric reader."""
    provider = TracerProvider() if sampled else TracerProvider(sampler=ALWAYS_OFF)
    # The queue never fills and is never exported, so that the processor's thread is not part of the measurement.
    batch = BatchSpanProcessor(
        Drop(), max_queue_size=1 << 20, max_export_batch_size=1 << 20, schedule_delay_millis=3.6e6
    )
    inner: Any = batch._batch_processor
    inner._queue = deque(inner._queue, maxlen=2048)
    provider.add_span_processor(batch)
    trace.set_tracer_provider(provider)
    if sampled:
        metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))


def _stock() -> None:
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor  # noqa: PLC0415  # where it is measured

    OpenAIInstrumentor().instrument()


def _openllmetry() -> None:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor  # noqa: PLC0415  # likewise

    OpenAIInstrumentor().instrument()


def _openinference() -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor  # noqa: PLC0415  # likewise

    OpenAIInstrumentor().instrument()


def _fastpath() -> None:
    from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # likewise

    FastpathInstrumentor().instrument(openai="on")


def bare() -> Given:
    """The client alone."""
    return Given()


def _given(instrument: Callable[[], None], content: str = "no_content", *, sampled: bool = True) -> Given:
    os.environ[CAPTURE] = content
    provide(sampled=sampled)
    instrument()
    return Given()


def stock() -> Given:
    """With opentelemetry-instrumentation-genai-openai."""
    return _given(_stock)


def stock_content() -> Given:
    """The same, content captured."""
    return _given(_stock, "span_only")


def stock_dropped() -> Given:
    """The same, no span sampled, no metrics."""
    return _given(_stock, sampled=False)


def openllmetry() -> Given:
    """With OpenLLMetry's instrumentation, which captures content by default."""
    return _given(_openllmetry)


def openllmetry_fastpath() -> Given:
    """The same beside ours, which stands back."""
    _fastpath()
    return _given(_openllmetry)


def openinference() -> Given:
    """With OpenInference's instrumentation, which captures content by default."""
    return _given(_openinference)


def openinference_fastpath() -> Given:
    """The same beside ours, which stands back."""
    _fastpath()
    return _given(_openinference)


def fastpath() -> Given:
    """With ours."""
    return _given(_fastpath)


def fastpath_content() -> Given:
    """The same, content captured."""
    return _given(_fastpath, "span_only")


def fastpath_dropped() -> Given:
    """The same, no span sampled, no metrics."""
    return _given(_fastpath, sampled=False)


def nothing(given: Given) -> None:
    """The bare call of scenarios that measure a whole call."""


def chat(given: Given) -> None:
    """A chat completion."""
    given.client.chat.completions.create(**CHAT)


def chat_stream(given: Given, chunks: int = CHUNKS) -> None:
    """A streamed one."""
    for _ in given.client.chat.completions.create(**CHAT, stream=True, extra_headers={"x-chunks": str(chunks)}):
        pass


def chat_stream_empty(given: Given) -> None:
    """The same without text."""
    chat_stream(given, 0)


def responses(given: Given) -> None:
    """A response."""
    given.client.responses.create(**RESPONSE)


def responses_stream(given: Given, chunks: int = CHUNKS) -> None:
    """A streamed one."""
    for _ in given.client.responses.create(**RESPONSE, stream=True, extra_headers={"x-chunks": str(chunks)}):
        pass


def responses_stream_empty(given: Given) -> None:
    """The same without text."""
    responses_stream(given, 0)


def embeddings(given: Given) -> None:
    """A vector."""
    given.client.embeddings.create(model="text-embedding-3-small", input=WORDS)
