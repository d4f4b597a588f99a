"""What becomes of content between the end of a call and its export."""

from __future__ import annotations

import copy
import json

import pytest
from madeup import CHAT, RESPONSE
from openai._models import construct_type
from openai.types.chat import ChatCompletion

from otel_fastpath import compiled
from otel_fastpath.genai.openai import content

INPUTS, OUTPUTS = "gen_ai.input.messages", "gen_ai.output.messages"
INSTRUCTIONS, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
HI = [{"role": "user", "content": "Hi"}]
CALL = {"id": "t", "type": "function", "function": {"name": "find", "arguments": '{"a": 3}'}}
CALLING = copy.deepcopy(CHAT)
CALLING["choices"][0]["message"]["tool_calls"] = [CALL]
TEXT = {"type": "output_text", "text": "Hello.", "annotations": []}
MESSAGE = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [TEXT]}
SEARCH = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "oak"}}
ANSWERED = {**RESPONSE, "output": [MESSAGE, SEARCH]}
COMPACTED = {**RESPONSE, "output": [{"type": "compaction", "id": "c", "encrypted_content": "x"}]}
UNFINISHED = {**RESPONSE, "output": [{**MESSAGE, "status": "in_progress"}]}


@pytest.fixture
def exported(told, monkeypatch):
    """`exported()`: the content of the only span, as JSON that is made only then."""
    told.use(on_span=True)
    made_later = {}

    def lazy(function, *args):
        stored = f"value {len(made_later)}"
        made_later[stored] = function, args
        return stored

    def read():
        (span,) = told.spans()
        later = {name: made_later[value] for name, value in span.attributes.items() if value in made_later}
        return {name: json.loads(function(*args)) for name, (function, args) in later.items()}

    monkeypatch.setattr(content, "lazy", lazy)
    return read


def chat(client, answer=CHAT, messages=HI, **more):
    """A chat completion."""
    return client(answer).chat.completions.create(model="gpt-4o", messages=messages, **more)


@pytest.mark.parametrize(
    ("left_out", "make"),
    [
        (TOOLS, lambda client: chat(client, tools=[{"type": "custom", "custom": {"name": "sql"}}])),
        (INPUTS, lambda client: chat(client, messages=[{"role": "assistant", "audio": {"id": "a"}}])),
        (INPUTS, lambda client: chat(client, messages=[{"role": "user", "content": []}])),
        (OUTPUTS, lambda client: client(UNFINISHED).responses.create(model="g", input="x")),
        (OUTPUTS, lambda client: client(COMPACTED).responses.create(model="g", input="x")),
        (INPUTS, lambda client: client(ANSWERED).responses.create(model="g", input=[{"type": "item_reference"}])),
        (INSTRUCTIONS, lambda client: client({**ANSWERED, "instructions": HI}).responses.retrieve("resp_1")),
    ],
)
def test_content_that_makes_no_message_is_left_out(told, client, left_out, make):
    """As the stock instrumentation leaves it out; there is no attribute with an empty list."""
    told.use(on_span=True)

    make(client)

    (span,) = told.spans()
    assert left_out not in span.attributes
    assert INPUTS in span.attributes or OUTPUTS in span.attributes


def test_content_in_the_second_message_is_content(told, client):
    """The first one may make none."""
    told.use(on_span=True)

    chat(
        client,
        messages=[{"role": "user", "content": []}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    )

    (span,) = told.spans()
    assert len(json.loads(span.attributes[INPUTS])) == 1


def test_an_answer_that_is_changed_afterwards_is_exported_as_it_came(exported, client):
    """An agent takes the tool calls from it, for example."""
    message = chat(client, CALLING).choices[0].message
    message.tool_calls[0].function.arguments = "CHANGED"
    message.tool_calls.clear()
    message.content = "CHANGED"

    (made,) = exported()[OUTPUTS]
    assert [part["type"] for part in made["parts"]] == ["tool_call", "text"]
    assert made["parts"][0]["arguments"] == {"a": 3}
    assert made["parts"][1]["content"] == "Hello."


def test_the_output_of_a_response_that_is_changed_afterwards(exported, client):
    """Likewise; its models, and the lists in them."""
    output = client(ANSWERED).responses.create(model="gpt-5", input="Hi").output
    output[0].content[0].text = "CHANGED"
    output[0].content.append(output[0].content[0])
    output[1].action.query = "CHANGED"
    output.clear()

    said, searched = exported()[OUTPUTS]
    assert said["parts"] == [{"content": "Hello.", "type": "text"}]
    assert searched["parts"][0]["server_tool_call"]["action"]["query"] == "oak"


def test_what_was_asked_and_is_changed_afterwards(exported, client):
    """Tools and messages, also where the client sends the caller's own objects."""
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "find", "parameters": parameters}}]
    messages = [{"role": "user", "content": "Hi"}]
    chat(client, messages=[], tools=tools, extra_body={"messages": messages})
    parameters["properties"]["CHANGED"] = {}
    messages[0]["content"] = "CHANGED"

    made = exported()
    assert made[INPUTS][0]["parts"][0]["content"] == "Hi"
    assert made[TOOLS][0]["parameters"] == {"type": "object", "properties": {"a": {"type": "string"}}}


def test_a_copy_shares_nothing_that_can_change(core):
    """Models are copied as what they are; what contains itself is not."""
    reading = compiled.load("genai.openai.reading.models", core)
    model = chat_model(CALLING)

    made = reading.copied({"a": [(model,)], "b": b"1", "c": 5})
    model.choices[0].message.tool_calls.clear()
    model.extra["x"].append(2)

    (inner,) = made["a"][0]
    assert type(inner) is type(model)
    assert len(inner.choices[0].message.tool_calls) == 1
    assert inner.extra == {"x": [1]}
    assert (made["b"], made["c"]) == (b"1", 5)
    endless = {}
    endless["a"] = endless["b"] = endless
    assert reading.copied(endless) is endless


def chat_model(answer):
    """A chat completion as the client makes it, with a field that it does not know."""
    return construct_type(type_=ChatCompletion, value={**copy.deepcopy(answer), "extra": {"x": [1]}})


def test_what_cannot_be_copied_is_kept(exported, client):
    """It is nested too deeply, for example: everything else of the call is exported."""
    deep = innermost = {}
    for _ in range(300):
        innermost["a"] = innermost = {}
    chat(client, tools=[{"type": "function", "function": {"name": "find", "parameters": deep}}])

    assert exported()[TOOLS][0]["parameters"] == deep
