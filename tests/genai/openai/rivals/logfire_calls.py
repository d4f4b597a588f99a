"""Calls of clients that Logfire and we instrument: prints the scopes of the spans of each call, as JSON.

    python logfire_calls.py ORDER MODE WHAT SUPPRESS

ORDER is "first" or "last": when ours is enabled. MODE is a mode of our wrapper, or "full". WHAT is
"classes" or "client". SUPPRESS is "suppress" or "others".
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import logfire
import openai
from madeup import CHAT, answer, chunk, http
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor
from otel_fastpath.patching import faults

ORDER, MODE, WHAT, SUPPRESS = sys.argv[1:]
GIVEN = {"api_key": "k", "base_url": "http://localhost:9/v1"}
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
exporter = InMemorySpanExporter()


def scopes():
    """Those of the spans that ended since the last call."""
    found = [span.instrumentation_scope.name for span in exporter.get_finished_spans()]
    exporter.clear()
    return found


def sync_calls(client):
    """A plain call, a stream, and a call that fails."""
    client.chat.completions.create(**ASKED)
    plain = scopes()
    for _ in client.chat.completions.create(**ASKED, stream=True):
        pass
    streamed = scopes()
    client.models.list()
    return [plain, streamed, scopes()]


async def async_calls(client):
    """A plain call."""
    await client.chat.completions.create(**ASKED)
    return [scopes()]


def all_calls():
    """Those of both clients."""
    return [*sync_calls(CLIENT), *asyncio.run(async_calls(ASYNC_CLIENT))]


def transport():
    """Answers to the calls above, in turn."""
    models = {"object": "list", "data": []}
    answers = [CHAT, [chunk("Hello."), chunk(finish_reason="stop")], models] * 4
    return http.MockTransport(answer(answers, []))


def ours():
    """Instrument with ours."""
    FastpathInstrumentor().instrument(**({"telemetry": "full"} if MODE == "full" else {"openai": MODE}))


logfire.configure(
    send_to_logfire=False, console=False, metrics=False, additional_span_processors=[SimpleSpanProcessor(exporter)]
)
CLIENT = openai.OpenAI(**GIVEN, http_client=http.Client(transport=transport()))
ASYNC_CLIENT = openai.AsyncOpenAI(
    **GIVEN, http_client=http.AsyncClient(transport=http.MockTransport(answer([CHAT], [])))
)
if ORDER == "first":
    ours()
settings = {"suppress_other_instrumentation": SUPPRESS == "suppress"}
contexts = [
    logfire.instrument_openai(*given, **settings)
    for given in ([()] if WHAT == "classes" else [(CLIENT,), (ASYNC_CLIENT,)])
]
if ORDER == "last":
    ours()
found = {"both": all_calls()}
FastpathInstrumentor().uninstrument()
found["theirs"] = all_calls()
for context in contexts:
    with context:
        pass
found["nobody"] = all_calls()
found["faults"] = faults.counts()
sys.stdout.write(json.dumps(found) + "\n")
