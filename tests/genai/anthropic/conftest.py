"""What the tests of Anthropic's messages share: clients whose answers are made up in the process."""

from __future__ import annotations

import importlib
import itertools
import json
import timeit
from contextlib import contextmanager

import anthropic
import httpx2
import pytest
from genai_telemetry import Telemetry
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor, wrappers
from opentelemetry.util.genai import _inference_invocation as inference
from opentelemetry.util.genai import _invocation as base
from opentelemetry.util.genai import stream

from otel_fastpath.genai.anthropic import patches

__all__ = ["Telemetry"]

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PATCH = importlib.import_module("opentelemetry.instrumentation.genai.anthropic.patch")
# Where stock's functions are: these, and those of util-genai below them.
PLACES = (
    (_PATCH, "_create_invocation"),
    (wrappers, "set_invocation_response_attributes"),
    (wrappers._MessagesStreamMixin, "_process_chunk"),
    (inference.InferenceInvocation, "__init__"),
    (inference.InferenceInvocation, "_on_stream_chunk"),
    (inference.InferenceInvocation, "_apply_finish"),
    (base._ContextData, "merge"),
    (stream.SyncStreamWrapper, "__next__"),
    (stream.AsyncStreamWrapper, "__anext__"),
    # Which else runs the hooks of this package.
    (AnthropicInstrumentor, "_instrument"),
)
STOCK = [vars(owner)[name] for owner, name in PLACES]
NAMES = ("anthropic.hooks", "anthropic.request", "anthropic.response", "anthropic.chunk")
MODEL = "claude-opus-5"
ASKED = {"model": MODEL, "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}
USAGE = {"input_tokens": 3, "output_tokens": 4, "cache_creation_input_tokens": 5, "cache_read_input_tokens": None}


@pytest.fixture
def ours(instrumented, no_faults):
    """The hooks of stock run this package's; there must be no fault."""
    assert states(instrumented) == dict.fromkeys(NAMES, ("applied", ""))
    wrappers._accumulation_disabled = False
    yield instrumented
    if AnthropicInstrumentor().is_instrumented_by_opentelemetry:
        AnthropicInstrumentor().uninstrument()
    assert no_faults.counts() == {}


def states(instrumentor):
    """The patches', by name."""
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status() if row.name in NAMES}


@contextmanager
def stock_functions():
    """Stock's own functions, and hooks, are in their places meanwhile."""
    found = [vars(owner)[name] for owner, name in PLACES]
    patches.HOOKS.diversions.undo()
    try:
        for (owner, name), function in zip(PLACES, STOCK, strict=True):
            setattr(owner, name, function)
        yield
    finally:
        for (owner, name), function in zip(PLACES, found, strict=True):
            setattr(owner, name, function)
        patches.HOOKS.divert()


@contextmanager
def counted_time():
    """A clock that is one second later each time it is read."""
    before = timeit.default_timer
    timeit.default_timer = map(float, itertools.count()).__next__
    try:
        yield
    finally:
        timeit.default_timer = before


@contextmanager
def instrumented_by(telemetry, **more):
    """Anthropic's instrumentation with these providers."""
    AnthropicInstrumentor().instrument(
        tracer_provider=telemetry.tracers,
        meter_provider=telemetry.meters,
        logger_provider=telemetry.loggers,
        skip_dep_check=True,
        **more,
    )
    try:
        yield
    finally:
        AnthropicInstrumentor().uninstrument()


def message(content=(), reason=None, **more):
    """A message of the model."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": f"{MODEL}-1", "content": list(content)}
    return {**head, "stop_reason": reason, "stop_sequence": None, "usage": USAGE, **more}


def events(*blocks, reason="end_turn"):
    """The events of a streamed message: each block is its first event's and the deltas that follow."""
    yield {"type": "message_start", "message": message()}
    for index, (block, *deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    usage = {"output_tokens": 9}
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def text(*pieces):
    """A block of text."""
    return ({"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def tool(*pieces):
    """A call of a tool."""
    first = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
    return (first, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


class Answers:
    """In the place of Anthropic's servers.

    Attributes:
        answer: The next answer: a message, a list of events, a status, or an error to raise.
    """

    def __init__(self):
        self.answer = message()

    def handle(self, _request):
        """Answer."""
        answer = self.answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return httpx2.Response(answer, json={"type": "error", "error": {"type": "api_error", "message": "no"}})
        if isinstance(answer, dict):
            return httpx2.Response(200, json=answer)
        lines = [f"event: {each.get('type', 'odd')}\ndata: {json.dumps(each)}\n\n" for each in answer]
        return httpx2.Response(200, content="".join(lines).encode(), headers={"content-type": "text/event-stream"})

    def client(self, is_async=False, **more):
        """A client that asks these."""
        kinds = (anthropic.AsyncAnthropic, httpx2.AsyncClient) if is_async else (anthropic.Anthropic, httpx2.Client)
        transport = httpx2.MockTransport(self.handle)
        more = {"open_telemetry": False, **more}
        return kinds[0](api_key="sk", max_retries=0, http_client=kinds[1](transport=transport), **more)


@pytest.fixture
def answers():
    """Anthropic's servers."""
    return Answers()
