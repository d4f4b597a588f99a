"""Content: nothing unless it is asked for, then whole messages, in the forms that are asked for."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from madeup import CHAT, chunk

from otel_fastpath.genai import openai as wrapper
from otel_fastpath.genai.openai.content import RESPONSES as RESPONSES_SHAPE
from otel_fastpath.genai.openai.content import Captured

PIXEL = "iVBORw0KGgo="
PICTURE = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
    ],
}
TOOL = {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}
CONTENT = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")


def ask(client, **more):
    """One call with a picture in it."""
    client(CHAT).chat.completions.create(model="gpt-4o", messages=[PICTURE], tools=[TOOL], **more)


def test_nothing_is_captured_unless_it_is_asked_for(told, client):
    """Neither on the span nor in an event."""
    ask(client)

    (span,) = told.spans()
    assert not set(CONTENT) & span.attributes.keys()
    assert told.events() == []


def test_what_is_inline_is_told_by_digest_and_size(told, client):
    """A picture would fill the span, and nobody reads it there."""
    told.use(on_span=True)

    ask(client)

    (span,) = told.spans()
    (message,) = json.loads(span.attributes["gen_ai.input.messages"])
    assert [part["type"] for part in message["parts"]] == ["text", "blob", "blob"]
    picture = message["parts"][1]
    assert (picture["mime_type"], picture["modality"]) == ("image/png", "image")
    assert picture["content"].startswith("sha256:")
    assert picture["content"].endswith(" (8 bytes)")
    assert json.loads(span.attributes["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"content": "Hello.", "type": "text"}],
            "finish_reason": "stop",
            "name": None,
        }
    ]
    assert json.loads(span.attributes["gen_ai.tool.definitions"]) == [
        {"name": "find", "description": "Finds.", "parameters": {"type": "object"}, "type": "function"}
    ]


def test_texts_are_cut(told, client):
    """To the length that is set, and say how long they were."""
    told.use(on_span=True, longest=4)

    ask(client)

    (span,) = told.spans()
    (message,) = json.loads(span.attributes["gen_ai.input.messages"])
    assert message["parts"][0]["content"] == "What... (13 characters)"


def test_an_event_has_what_the_span_has_with_content_as_data(told, client):
    """It belongs to the span, and comes whether or not content is captured."""
    told.use(on_event=True, events=True)

    ask(client)

    (span,) = told.spans()
    (event,) = told.events()
    assert event.event_name == "gen_ai.client.inference.operation.details"
    assert event.span_id == span.get_span_context().span_id
    assert {name: value for name, value in event.attributes.items() if name not in CONTENT} == dict(span.attributes)
    assert event.attributes["gen_ai.output.messages"][0]["parts"][0]["content"] == "Hello."


def test_a_hook_gets_everything_whole(told, client):
    """In the classes of `opentelemetry.util.genai.types`, with the bytes of what is inline."""
    types = pytest.importorskip("opentelemetry.util.genai.types")
    got = []
    told.use(hook=SimpleNamespace(on_completion=lambda **content: got.append(content)))

    ask(client)

    (content,) = got
    (message,) = content["inputs"]
    assert type(message) is types.InputMessage
    assert message.parts[1] == types.BlobPart(mime_type="image/png", modality="image", content=b"\x89PNG\r\n\x1a\n")
    assert content["outputs"][0].parts == [types.TextPart(content="Hello.")]
    assert content["span"].name == "chat gpt-4o"
    assert content["log_record"] is None


def test_what_a_stream_said_before_it_was_left_is_kept(told, client):
    """Text and the arguments of tool calls, put together."""
    told.use(on_span=True)
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a":'}}
    more = {"index": 0, "function": {"arguments": "1}"}}
    chunks = [chunk("He"), chunk("llo"), chunk(None), chunk(None), chunk("never")]
    for each, part in ((chunks[2], call), (chunks[3], more)):
        each["choices"][0]["delta"] = {"tool_calls": [part]}

    with client(chunks).chat.completions.create(model="gpt-4o", messages=[PICTURE], stream=True) as stream:
        for _ in range(4):
            next(stream)

    (span,) = told.spans()
    (message,) = json.loads(span.attributes["gen_ai.output.messages"])
    assert message["parts"] == [
        {"content": "Hello", "type": "text"},
        {"arguments": {"a": 1}, "name": "find", "id": "c1", "type": "tool_call"},
    ]


def test_items_of_a_response_become_messages():
    """Tool calls side by side are one turn; what is not known is left out."""
    captured = Captured(
        RESPONSES_SHAPE,
        {
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "Where?"},
                {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"},
                {"type": "function_call", "call_id": "2", "name": "b", "arguments": "oops"},
                {"type": "function_call_output", "call_id": "1", "output": {"x": 1}},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
                {"type": "unheard_of"},
            ],
        },
    )

    made = captured.made("gen_ai.input.messages")

    assert [(message["role"], [part["type"] for part in message["parts"]]) for message in made] == [
        ("user", ["text"]),
        ("assistant", ["tool_call", "tool_call"]),
        ("tool", ["tool_call_response"]),
        ("assistant", ["reasoning"]),
    ]
    assert [part["arguments"] for part in made[1]["parts"]] == [{}, "oops"]
    assert captured.made("gen_ai.system_instructions") == [{"content": "Be brief.", "type": "text"}]
    assert captured.made("gen_ai.output.messages") == []


def test_a_call_within_one_of_util_genai_is_part_of_it(told, client):
    """One span for both: the outer one, which gets what the inner one knows."""
    TelemetryHandler = pytest.importorskip("opentelemetry.util.genai.handler").TelemetryHandler  # noqa: N806  # a class

    handler = TelemetryHandler(tracer_provider=told.providers["tracer_provider"])
    with handler.inference("openai", request_model="gpt-4o"):
        ask(client, temperature=0.5)

    (span,) = told.spans()
    assert span.attributes["gen_ai.usage.input_tokens"] == 3
    assert span.attributes["gen_ai.request.temperature"] == 0.5
    assert told.metrics() == {}


@pytest.mark.parametrize(
    ("options", "length", "logged"),
    [
        ("", 65536, 0),
        ("content_length=10", 10, 0),
        ("content_length=0", 0, 0),
        ({"content_length": 5}, 5, 0),
        ("content_length=x,a=b", 65536, 2),
        ("content_length=-5", 65536, 1),
        ({"content_length": -1}, 65536, 1),
    ],
)
def test_the_length_is_an_option(options, length, logged, caplog):
    """What is not understood is one line in the log."""
    assert wrapper._longest(options) == length
    assert len(caplog.records) == logged
