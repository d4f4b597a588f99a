"""Answers that are not as they should be: the client's outcome is its own, and nothing of ours fails over them."""

from __future__ import annotations

import copy
import json
import logging
import random

import pytest
from both import run as run_with
from both import take, wait
from madeup import CHAT, chunk, http
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

# Of each client.
ROUNDS = 300
ODD = [
    None,
    True,
    -1,
    0.5,
    10**30,
    "",
    "x" * 3000,
    [],
    {},
    [None],
    [["a"]],
    [{"type": ["a"]}],
    {"a": {"b": [1, None]}},
    "completed",
    {"type": {}},
]
CALL = {"id": "call_1", "index": 0, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
FULL_CHAT = copy.deepcopy(CHAT)
FULL_CHAT["choices"][0]["message"] |= {"tool_calls": [CALL], "refusal": "no"}
FULL_CHAT["usage"] |= {"prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"audio_tokens": 2}}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "error": None,
    "tools": [{"type": "function", "name": "f"}],
    "service_tier": "default",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "so"}], "status": "completed"},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
    ],
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
DELTA = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a", "item_id": "i"}
EVENTS = [
    {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
    {**DELTA, "sequence_number": 1},
    {"type": "response.output_item.done", "item": RESPONSE["output"][0], "output_index": 0},
    {"type": "response.failed", "response": {**RESPONSE, "error": {"code": "gone", "message": "no"}}},
]
CHUNKS = [chunk("a"), chunk(None), chunk(None, "stop"), chunk(usage=CHAT["usage"])]
CHUNKS[1]["choices"][0]["delta"] = {"tool_calls": [CALL]}
EMBEDDING = {
    "object": "list",
    "model": "e",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}
TEXTS = {"id": "cmpl_1", "model": "m", "choices": [{"index": 0, "text": "a", "finish_reason": "stop"}], "usage": {}}
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
# How it is asked, and a good answer: a list is streamed.
KINDS = (
    (lambda client: client.chat.completions.create(**ASK), FULL_CHAT),
    (lambda client: client.chat.completions.create(**ASK, stream=True), CHUNKS),
    (lambda client: client.responses.create(model="m", input="Hi."), RESPONSE),
    (lambda client: client.responses.create(model="m", input="Hi.", stream=True), EVENTS),
    (lambda client: client.responses.retrieve("resp_1"), RESPONSE),
    (lambda client: client.embeddings.create(model="e", input="a", encoding_format="float"), EMBEDDING),
    (lambda client: client.completions.create(model="m", prompt="a"), TEXTS),
    (lambda client: client.chat.completions.with_raw_response.create(**ASK), FULL_CHAT),
)


def places(value, found):
    """Every container in a value with the keys of what is in it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        found.append((value, key))
        places(each, found)
    return found


def malformed(rng, good):
    """A copy of a good answer with some of it changed, missing or elsewhere."""
    made = copy.deepcopy(good)
    for _ in range(rng.choice([1, 1, 2, 4])):
        found = places(made, [])
        if not found:
            break
        holder, key = rng.choice(found)
        if rng.random() < 0.2:
            del holder[key]
        elif rng.random() < 0.1:
            holder[key] = [holder[key]] * 3
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD))
    return made


def encoded(answer):
    """The body, and what it is."""
    if isinstance(answer, list):
        lines = [f"event: {name(each)}\ndata: {json.dumps(each)}\n\n" for each in answer]
        return "".join([*lines, "data: [DONE]\n\n"]), "text/event-stream"
    return json.dumps(answer), "application/json"


def name(event):
    """That of an event of a stream."""
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) and "\n" not in kind else "message"


async def outcomes(client, bodies, rounds):
    """What came of each call: what it gave, or what it raised."""
    found = []
    rng = random.Random(7)  # noqa: S311  # the same each time
    for _ in range(rounds):
        call, good = rng.choice(KINDS)
        bodies.append(encoded(malformed(rng, good)))
        try:
            result = await wait(call(client))
            found.append(repr(await take(result)) if isinstance(good, list) else repr(result)[:40])
        except Exception as error:
            found.append((type(error), str(error)[:200]))
    return found


def run(kind, rounds):
    """All of them with a client of this kind."""
    bodies = []

    def handle(_request):
        body, content_type = bodies[-1]
        return http.Response(200, content=body, headers={"content-type": content_type})

    transport = http.MockTransport(handle)
    client = http.Client(transport=transport) if kind == "sync" else http.AsyncClient(transport=transport)
    settings = {"api_key": "k", "base_url": "http://localhost:9/v1", "max_retries": 0, "http_client": client}
    return run_with(kind, lambda client: outcomes(client, bodies, rounds), **settings)


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [("sync", ROUNDS), *(pytest.param(kind, 5 * ROUNDS, marks=pytest.mark.slow) for kind in ("sync", "async"))],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_malformed_answers_are_no_fault_of_ours(instrumentor, core, environ, kind, rounds, no_faults, caplog):
    """Wrong types, missing fields, huge numbers, in answers and streams: results equal, no fault, no failed content."""
    environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_and_event")
    environ.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    caplog.set_level(logging.WARNING, logger="otel_fastpath")
    bare = run(kind, rounds)
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    instrumentor.instrument(
        core=core, telemetry="full", disabled="exceptions", tracer_provider=tracers, meter_provider=meters
    )

    ours = run(kind, rounds)

    assert [pair for pair in zip(bare, ours, strict=True) if pair[0] != pair[1]] == []
    spans = exporter.get_finished_spans()
    assert len(spans) == rounds
    # Content is formatted when it is exported.
    assert all(dict(span.attributes) for span in spans)
    assert reader.get_metrics_data() is not None
    assert no_faults.counts() == {}
    assert [record.getMessage() for record in caplog.records if record.name.startswith("otel_fastpath")] == []
