"""Chat completions: one span each, whatever the form of the call."""

from __future__ import annotations

import openai
import pytest
from madeup import CHAT, refusal
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

ASK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}


def test_a_call_is_one_span_with_what_was_asked_and_answered(told, client):
    """Kind, name and attributes are those of the conventions."""
    client(CHAT).chat.completions.create(**ASK, temperature=0.5, stop="x", n=2, max_tokens=9, service_tier="flex")

    (span,) = told.spans()
    assert (span.name, span.kind, span.status.status_code) == ("chat gpt-4o", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "server.address": "localhost",
        "server.port": 9,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stop_sequences": ("x",),
        "gen_ai.request.choice.count": 2,
        "gen_ai.request.max_tokens": 9,
        "openai.request.service_tier": "flex",
        "gen_ai.response.model": "gpt-4o-2024",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "openai.response.service_tier": "default",
        "openai.response.system_fingerprint": "fp_1",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
    }


def test_an_error_is_the_spans_too(told, client):
    """Status and error type are those of the exception, which the caller gets."""
    with pytest.raises(openai.NotFoundError):
        client(refusal(404)).chat.completions.create(**ASK)

    (span,) = told.spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "openai.NotFoundError"
    assert span.events == ()


def test_the_span_is_current_while_the_request_is_made(told, client, asked):
    """What the HTTP client does belongs to the call; what the caller does next does not."""
    seen = []
    made = client(CHAT)
    made._client.event_hooks = {"request": [lambda _request: seen.append(trace.get_current_span())]}

    made.chat.completions.create(**ASK)

    (span,) = told.spans()
    assert [each.get_span_context() for each in seen] == [span.get_span_context()]
    assert len(asked) == 1
    assert not trace.get_current_span().get_span_context().is_valid
