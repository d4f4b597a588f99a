"""What the stock instrumentation does not tell, or tells otherwise."""

from __future__ import annotations

import base64
import inspect
import struct
from enum import Enum

import openai
import pytest
from madeup import CHAT, RESPONSE
from newer_releases import needs, older

from otel_fastpath.genai.openai import patches


def test_the_dimensions_of_a_base64_vector_are_its_floats(told, client):
    """Not the characters that they are written in."""
    vector = base64.b64encode(struct.pack("<5f", *range(5))).decode()
    answer = {"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": vector}]}
    made = client(answer)

    made.embeddings.create(model="m", input="a", encoding_format="base64")
    made.embeddings.create(model="m", input="a")

    asked, decoded = told.spans()
    assert asked.attributes["gen_ai.embeddings.dimension.count"] == 5
    assert asked.attributes["gen_ai.request.encoding_formats"] == ("base64",)
    assert decoded.attributes["gen_ai.embeddings.dimension.count"] == 5
    assert "gen_ai.request.encoding_formats" not in decoded.attributes


def test_a_call_that_the_client_refuses_itself_is_none(told, client):
    """There was no request."""
    with pytest.raises(TypeError, match="Missing required arguments"):
        client(CHAT).chat.completions.create(model="gpt-4o")

    assert told.spans() == ()


def test_what_is_sent_besides_is_told(told, client):
    """The body is read as it is sent, with `extra_body` in it."""
    ask = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    client(CHAT).chat.completions.create(**ask, extra_body={"top_k": 4, "max_completion_tokens": 7}, max_tokens=9)

    (span,) = told.spans()
    assert span.attributes["gen_ai.request.top_k"] == 4
    assert span.attributes["gen_ai.request.max_tokens"] == 7


def test_images_tell_their_tokens_by_kind(told, client):
    """In one piece and streamed."""
    usage = {
        "input_tokens": 9,
        "output_tokens": 8,
        "total_tokens": 17,
        "input_tokens_details": {"text_tokens": 3, "image_tokens": 6},
    }
    event = {"type": "image_generation.completed", "b64_json": "", "usage": usage}
    client({"created": 1, "data": [], "usage": usage}).images.generate(model="gpt-image-1", prompt="A chair")
    if "stream" not in inspect.signature(openai.resources.Images.generate).parameters:
        pytest.skip("this client does not stream images")
    list(client([event]).images.generate(model="gpt-image-1", prompt="A chair", stream=True))

    for span in told.spans():
        assert span.name == "images.generate gpt-image-1"
        assert span.attributes["gen_ai.usage.text.input_tokens"] == 3
        assert span.attributes["gen_ai.usage.image.input_tokens"] == 6
        assert span.attributes["gen_ai.usage.output_tokens"] == 8
    assert "gen_ai.response.time_to_first_chunk" in told.spans()[1].attributes


def test_a_page_after_another_is_a_call_of_its_own(told, client):
    """One span for each request."""
    if "has_more" not in openai.pagination.SyncCursorPage.model_fields:
        pytest.skip("this client lists files without pages")
    pages = [
        {"object": "list", "data": [{"id": "1"}], "has_more": True},
        {"object": "list", "data": [{"id": "2"}], "has_more": False},
    ]

    assert [each.id for each in client(*pages).files.list()] == ["1", "2"]
    assert [span.name for span in told.spans()] == ["files.list", "files.list"]


def test_an_enum_does_not_name_other_calls(told, client):
    """It equals the text that it is, and is not shown as such."""

    class Model(str, Enum):
        A = "gpt-4o"

    made = client(CHAT)
    for model in (Model.A, "gpt-4o", Model.A):
        made.chat.completions.create(model=model, messages=[])

    assert [span.name for span in told.spans()] == [f"chat {Model.A}", "chat gpt-4o", f"chat {Model.A}"]
    assert {type(key[-1]) for key in patches._telemetry._known.items} == {str}


def test_a_model_that_cannot_be_compared_is_not(told, client, no_faults):
    """Code of the application's own class is not run."""

    class Model(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            raise RuntimeError(other)

    made = client(CHAT)
    for model in ("gpt-4o", Model("gpt-4o")):
        made.chat.completions.create(model=model, messages=[])

    assert [span.name for span in told.spans()] == ["chat gpt-4o", "chat gpt-4o"]
    if not older("opentelemetry-sdk", "1.45"):
        # Before that, the SDK itself compares the values of attributes to find a metric's series.
        assert no_faults.counts() == {}


@needs("openai", "2.30", "the first that escapes it")
def test_the_id_of_a_fetched_response_is_as_it_was_passed(told, client):
    """It is escaped in the path of the request."""
    made = client({**RESPONSE, "id": None})
    made.responses.retrieve("a/b?c=d")

    (span,) = told.spans()
    assert span.attributes["gen_ai.response.id"] == "a/b?c=d"
