"""The OpenAI server of the examples, as the real client sees it."""

import json

import httpx
import openai
import pytest

QUESTION = [{"role": "user", "content": "Tell me about item 17 please"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "find_item",
        "parameters": {"type": "object", "properties": {"item_id": {"type": "integer"}, "why": {"type": "string"}}},
    },
}


@pytest.fixture
def client(openai_url):
    """The real client, pointed at our server."""
    with openai.OpenAI(base_url=openai_url, api_key="sk-example") as made:
        yield made


def test_a_completion_has_words_usage_and_identity(client):
    """A chat gets an answer about what was asked, with ids, a fingerprint and tokens that add up."""
    answer = client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION)
    choice = answer.choices[0]
    assert "item 17" in choice.message.content
    assert choice.finish_reason == "stop"
    assert answer.model == "gpt-4o-mini-2024-07-18"
    assert answer.id.startswith("chatcmpl-")
    assert answer.system_fingerprint
    assert answer._request_id.startswith("req_")
    assert answer.usage.completion_tokens == len(choice.message.content.split())
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_limit_of_tokens_is_kept(client):
    """An answer stops at max_tokens and says so."""
    answer = client.chat.completions.create(model="gpt-4o", messages=QUESTION, max_tokens=5)
    assert answer.usage.completion_tokens == 5
    assert answer.choices[0].finish_reason == "length"


def test_a_stream_says_what_the_completion_says(client):
    """The pieces of a stream add up to the answer in one piece, and the last chunk has its usage."""
    whole = client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION)
    with client.chat.completions.create(
        model="gpt-4o-mini", messages=QUESTION, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == whole.choices[0].message.content
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:-1]] == ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage == whole.usage


def test_a_stream_has_usage_only_on_request(client):
    """Without include_usage no chunk carries usage."""
    with client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION, stream=True) as stream:
        assert all(chunk.usage is None and chunk.choices for chunk in stream)


def test_a_tool_is_called_with_its_parameters(client):
    """Given a tool, the model calls it with arguments of the types that it declares, and answers once it has run."""
    asked = client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION, tools=[TOOL])
    message = asked.choices[0].message
    assert asked.choices[0].finish_reason == "tool_calls"
    assert message.content is None
    assert json.loads(message.tool_calls[0].function.arguments) == {"item_id": 17, "why": "17"}
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "it is blue"}
    history = [*QUESTION, message.model_dump(exclude_none=True), result]
    answered = client.chat.completions.create(model="gpt-4o-mini", messages=history, tools=[TOOL])
    assert "it is blue" in answered.choices[0].message.content


def test_a_streamed_tool_call_comes_in_pieces(client):
    """The client's own accumulator puts a streamed tool call together."""
    with client.chat.completions.stream(model="gpt-4o-mini", messages=QUESTION, tools=[TOOL]) as stream:
        final = stream.get_final_completion()
    call = final.choices[0].message.tool_calls[0]
    assert call.function.name == "find_item"
    assert json.loads(call.function.arguments) == {"item_id": 17, "why": "17"}


@pytest.mark.parametrize(
    ("model", "error", "code"),
    [
        ("fault-400", openai.BadRequestError, "invalid_value"),
        ("fault-429", openai.RateLimitError, "rate_limit_exceeded"),
        ("fault-500", openai.InternalServerError, None),
        ("no-such-model", openai.NotFoundError, "model_not_found"),
    ],
)
def test_a_refusal_is_the_error_that_openai_raises(client, model, error, code):
    """Each kind of failure reaches the caller as the client's own exception, at once and with its code."""
    with pytest.raises(error) as raised:
        client.chat.completions.create(model=model, messages=QUESTION)
    assert raised.value.code == code
    assert raised.value.request_id


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [({}, b"{}", 401), ({"authorization": "Bearer x"}, b"no json", 400), ({"authorization": "Bearer x"}, b"[]", 404)],
)
def test_a_bad_request_is_refused_in_openais_form(openai_url, headers, content, status):
    """Without a key, or with a body that is none, the answer is an error object."""
    answer = httpx.post(f"{openai_url}/chat/completions", headers=headers, content=content)
    assert answer.status_code == status
    assert answer.json()["error"].keys() == {"message", "type", "param", "code"}


def test_a_chat_needs_messages(client):
    """A request without messages is refused by the name of what it lacks."""
    with pytest.raises(openai.BadRequestError, match="messages"):
        client.chat.completions.create(model="gpt-4o-mini", messages=[])


def test_embeddings_are_the_same_in_both_encodings(client):
    """The client's default encoding (base64) and plain numbers give one vector for each text."""
    texts = ["a chair", "a table"]
    packed = client.embeddings.create(model="text-embedding-3-small", input=texts)
    plain = client.embeddings.create(model="text-embedding-3-small", input=texts, encoding_format="float")
    assert [one.embedding for one in packed.data] == [one.embedding for one in plain.data]
    assert packed.data[0].embedding != packed.data[1].embedding
    assert packed.usage.total_tokens == 4


def test_the_models_are_listed(client):
    """The list has the models that answer."""
    assert "gpt-4o-mini" in {model.id for model in client.models.list()}
