"""Random calls of Anthropic's client leave the same telemetry with stock's functions and with this package's."""

# ruff: noqa: ARG001, D102  # the fixture `ours` puts the functions in their places; methods are named after steps

from __future__ import annotations

import asyncio
import gc
import inspect
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.instrumentation.genai.anthropic import wrappers

from .conftest import (
    ASKED,
    CAPTURE,
    Answers,
    Telemetry,
    counted_time,
    events,
    instrumented_by,
    message,
    stock_functions,
    text,
    tool,
)

TEXTS = st.sampled_from(("", "Hi", "\u00e4\U0001f600", " there"))
JSON = st.sampled_from(("", '{"city": ', '"Par', 'is"}', "[1, ", "2]", "tru", "}", "\\u00", '"\\', "nonsense", "12"))
BLOCKS = st.one_of(
    st.builds(text, TEXTS, TEXTS),
    st.builds(lambda pieces: text(*pieces), st.lists(TEXTS, max_size=4)),
    st.builds(lambda pieces: tool(*pieces), st.lists(JSON, max_size=4)),
    st.just(tool('{"city": "Par', 'is"}')),
    st.builds(
        lambda first, pieces: (
            {"type": "thinking", "thinking": first, "signature": ""},
            *({"type": "thinking_delta", "thinking": piece} for piece in pieces),
            {"type": "signature_delta", "signature": "s"},
        ),
        TEXTS,
        st.lists(TEXTS, max_size=2),
    ),
    st.just(({"type": "redacted_thinking", "data": "x"},)),
    st.just(({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, tool('{"a": 1}')[1])),
    st.just(({"type": "text", "text": "first "}, text("second")[1])),
    st.just(({"type": "text", "text": None}, text("second")[1])),
    st.just(({"type": "tool_use", "id": "t", "name": "f", "input": {"kept": [1]}},)),
    st.just(({"type": "new_block", "text": "?"}, {"type": "text_delta", "text": "to what?"})),
    st.just((text()[0], {"type": "new_delta", "text": "?"}, {"type": "text_delta", "text": 5})),
    st.just((text()[0], tool("{")[1], {"type": "thinking_delta", "thinking": "of what?"})),
    st.just(
        (
            text()[0],
            {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "c", "document_index": 0}},
            text("cited")[1],
        )
    ),
)
ODD_EVENTS = st.sampled_from(
    (
        {"type": "message_start", "message": message()},
        {"type": "message_start", "message": message(text("early")[:1])},
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "nowhere"}},
        {"type": "content_block_delta", "index": -1, "delta": {"type": "text_delta", "text": "last"}},
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_start", "index": 9, "content_block": {"type": "text", "text": "far"}},
        {"type": "content_block_stop", "index": 9},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 1, "input_tokens": 2},
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": None, "stop_sequence": "#"},
            "usage": {"output_tokens": None},
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens", "stop_sequence": None, "container": {"id": "c", "expires_at": None}},
            "usage": {
                "output_tokens": 2,
                "output_tokens_details": {"thinking_tokens": 3},
                "cache_read_input_tokens": 1,
            },
        },
        {"type": "message_delta", "delta": {}, "usage": {}},
        {"type": "message_delta"},
        {"type": "ping"},
        {"type": "new_event", "message": message()},
        {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}},
    )
)
STREAMS = st.builds(
    lambda blocks, reason, odd: _mixed(list(events(*blocks, reason=reason)), odd),
    st.lists(BLOCKS, max_size=3),
    st.sampled_from(("end_turn", "tool_use", "refusal", None)),
    st.lists(st.tuples(st.integers(0, 12), ODD_EVENTS), max_size=2),
)
MESSAGES = st.builds(
    message,
    st.lists(BLOCKS.map(lambda block: block[0]), max_size=3),
    st.sampled_from(("end_turn", "max_tokens", "odd", None)),
    usage=st.sampled_from(
        (
            {"input_tokens": 3, "output_tokens": 4},
            {"input_tokens": 0, "output_tokens": 4, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1},
            {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": {"thinking_tokens": 2}},
            {"input_tokens": "3", "output_tokens": None},
        )
    ),
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "system": st.sampled_from(("", "Be brief.", [{"type": "text", "text": "Be kind."}])),
        "stop_sequences": st.sampled_from((["a"], [])),
        "extra_body": st.sampled_from((None, {"temperature": 1, "top_p": True, "top_k": 3}, {"a": 1})),
        "tools": st.just([{"name": "weather", "description": "d", "input_schema": {"type": "object"}}]),
        "messages": st.sampled_from(
            (
                [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}, {"role": "assistant", "content": "Oh"}],
                [],
                [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "sun"}]}],
                "iterator",
            )
        ),
        "model": st.sampled_from(("other", "")),
        "max_tokens": st.just("many"),
    },
)
ARGUMENTS = st.tuples(ARGUMENTS, st.sampled_from(({}, {}, {}, {}, {"unknown": 1}))).map(
    lambda both: {**both[0], **both[1]}
)
HOW = st.sampled_from(("create", "create", "beta", "helper", "raw", "streamed raw", "parse"))
END = st.sampled_from(("read", "read", "read", "break", "close", "with", "raise", "drop"))
CALLS = st.lists(
    st.tuples(
        HOW,
        ARGUMENTS,
        st.one_of(STREAMS, STREAMS, MESSAGES, st.sampled_from((400, 529, ConnectionError("gone")))),
        END,
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=3,
)


def _mixed(found, odd):
    for place, event in odd:
        found.insert(min(place, len(found)), event)
    return found


class OwnError(Exception):
    """The application's."""


class Run:
    """One run of a program."""

    def __init__(self, is_async):
        self.is_async = is_async
        self.answers = Answers()
        self.client = self.answers.client(is_async)
        self.happened = []

    async def call(self, how, arguments, answer, end, count):
        arguments = {**ASKED, **arguments}
        if arguments["messages"] == "iterator":
            arguments["messages"] = iter(ASKED["messages"])
        self.answers.answer = answer
        is_streamed = isinstance(answer, list)
        if is_streamed and how != "helper":
            arguments["stream"] = True
        try:
            await self.read(await self.made(how, arguments), end, count)
        except Exception as error:
            self.note(type(error).__name__, str(error)[:90])
        self.note("current", trace.get_current_span().is_recording())

    async def made(self, how, arguments):
        resource = self.client.beta.messages if how == "beta" else self.client.messages
        if how == "helper":
            manager = resource.stream(**arguments)
            return await manager.__aenter__() if self.is_async else manager.__enter__()
        if how == "raw":
            resource = resource.with_raw_response
        if how == "streamed raw":
            arguments.setdefault("extra_headers", {})["X-Stainless-Raw-Response"] = "true"
        made = (resource.parse if how == "parse" else resource.create)(**arguments)
        made = await made if self.is_async else made
        if how == "raw":
            made = made.parse()
            made = await made if inspect.isawaitable(made) else made
        return made

    async def read(self, made, end, count):
        self.note("made", type(made).__name__)
        if not hasattr(made, "response"):
            return
        if end == "with" and self.is_async:
            async with made as found:
                await self.iterate(found, end, 99)
        elif end == "with":
            with made as found:
                await self.iterate(found, end, 99)
        else:
            await self.iterate(made, end, 99 if end == "read" else count)
            if end == "close":
                await made.close() if self.is_async else made.close()

    async def iterate(self, found, end, count):
        number = 0
        if self.is_async:
            async for each in found:
                self.note("event", repr(each))
                number += 1
                if number > count:
                    break
        else:
            for each in found:
                self.note("event", repr(each))
                number += 1
                if number > count:
                    break
        if end == "raise":
            raise OwnError

    def note(self, *what):
        self.happened.append(what)


def _seen(program, is_async, caplog):
    """Run a program; what happened and what arrived."""
    telemetry = Telemetry()
    caplog.clear()
    wrappers._accumulation_disabled = False
    with counted_time(), instrumented_by(telemetry):
        run = Run(is_async)

        async def main():
            for step in program:
                await run.call(*step)

        asyncio.run(main())
    gc.collect()
    logged = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    logged = [each for each in logged if each[0].startswith("opentelemetry")]
    seen = telemetry.seen()
    disabled, wrappers._accumulation_disabled = wrappers._accumulation_disabled, False
    return run.happened, seen.spans, seen.events, seen.points, logged, disabled


@pytest.mark.proves("anthropic.hooks", "anthropic.request", "anthropic.response", "anthropic.chunk")
@pytest.mark.proves("genai.stream", "genai.stream.async")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=CALLS, mode=st.sampled_from(("", "span_only", "SPAN_AND_EVENT", "event_only")), is_async=st.booleans())
def test_random_calls(ours, caplog, monkeypatch, program, mode, is_async):
    """What the application gets and what arrives is equal."""
    monkeypatch.setenv(CAPTURE, mode)
    with caplog.at_level(logging.WARNING, "opentelemetry"):
        with stock_functions():
            expected = _seen(program, is_async, caplog)
        assert _seen(program, is_async, caplog) == expected
