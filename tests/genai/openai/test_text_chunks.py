"""Which chunks of a stream say nothing but text, wherever a model has its fields."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from otel_fastpath import compiled as cores
from otel_fastpath.genai.rule_kinds import CHAT, CHAT_WITH_TIER, EVENTS, NONE

CHUNK: dict[str, Any] = {
    "id": "chatcmpl-1",
    "choices": [],
    "created": 1,
    "model": "gpt-4o-mini",
    "object": "chat.completion.chunk",
    "moderation": None,
    "obfuscation": None,
    "service_tier": None,
    "system_fingerprint": None,
    "usage": None,
}
CHOICE: dict[str, Any] = {"delta": None, "index": 0, "finish_reason": None, "logprobs": None}
EVENT: dict[str, Any] = {"content_index": 0, "delta": "wood", "item_id": "1", "logprobs": [], "output_index": 0}
TOLD = frozenset({"response.completed"})


@pytest.fixture
def is_text(core):
    """The function of each core."""
    return cores.load("genai.openai.reading.models", core).is_text


@pytest.fixture(params=["as the client has them", "the other way round", "without what is None"])
def model(request):
    """Makes an object with these fields, in one of three orders."""

    def make(fields, **other):
        found = {**fields, **other}
        if request.param == "the other way round":
            found = dict(reversed(found.items()))
        elif request.param == "without what is None":
            found = {name: value for name, value in found.items() if value is not None}
        return SimpleNamespace(**found)

    return make


def test_chunks_of_a_chat(is_text, model):
    """Usage, a service tier that is not known yet, and the reason for the end are looked at."""

    def chunk(choice=None, **other):
        return model({**CHUNK, "choices": [model(CHOICE, **(choice or {}))]}, **other)

    assert is_text(chunk(), CHAT, TOLD)
    assert is_text(chunk(), CHAT_WITH_TIER, TOLD)
    assert is_text(chunk(service_tier="default"), CHAT_WITH_TIER, TOLD)
    assert not is_text(chunk(service_tier="default"), CHAT, TOLD)
    assert not is_text(chunk(usage=model({"total_tokens": 1})), CHAT_WITH_TIER, TOLD)
    assert not is_text(chunk({"finish_reason": "stop"}), CHAT_WITH_TIER, TOLD)
    assert not is_text(chunk(choices=None), CHAT_WITH_TIER, TOLD)
    assert not is_text(chunk(), NONE, TOLD)


def test_events_of_a_response(is_text, model):
    """By their type; what has none is looked at."""

    def event(kind):
        return model({**EVENT, "sequence_number": 3}, type=kind)

    assert is_text(event("response.output_text.delta"), EVENTS, TOLD)
    assert not is_text(event("response.completed"), EVENTS, TOLD)
    assert not is_text(event(None), EVENTS, TOLD)
    assert not is_text({"type": "response.output_text.delta"}, EVENTS, TOLD)


@pytest.mark.parametrize("choices", [(), {}, "text", type("Choices", (list,), {})()])
def test_choices_that_are_no_list_are_somebody_elses_to_read(is_text, model, choices):
    """A list that is none exactly, as an answer that is not the service's may have it, raises nothing here."""
    assert not is_text(model(CHUNK, choices=choices), CHAT, TOLD)
