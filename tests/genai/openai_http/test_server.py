"""The loopback server, as the bare client sees it: what the other tests are built on."""

from __future__ import annotations

import httpx
import openai
import pydantic
import pytest
from loopback.orders import ordered
from surface import CHAT, EVERY, FORMAT, MODEL, RESPONSE, TOOL

# Some calls are on their way out, and a client's all the same.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
STREAMING = [call for call in EVERY if call.streams]


class Item(pydantic.BaseModel):
    """What a parsed answer is."""

    item: int


def test_every_call_is_answered(client):
    """The client makes an object of what each endpoint answers."""
    for call in EVERY:
        assert call.on(client)(*call.args, **call.kwargs) is not None, call.method


@pytest.mark.parametrize("call", STREAMING, ids=lambda call: call.method)
def test_every_stream_ends(client, call):
    """The events of each stream are those that the client knows, to the last."""
    with call.on(client)(*call.args, **call.kwargs, stream=True) as stream:
        events = list(stream)
    assert len(events) > 2
    assert len({type(event).__name__ for event in events}) >= (1 if "completions" in call.method else 2)


def test_a_chat_stream_adds_up(client):
    """The pieces are the whole, and usage comes where it was asked for."""
    whole = client.chat.completions.create(**CHAT)
    chunks = list(client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}))
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    assert said == whole.choices[0].message.content
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


def test_the_helpers_of_the_client_understand_it(client):
    """Parsing and accumulating helpers give the parsed object of a chat and of a response."""
    chat = {**CHAT, "response_format": Item}
    assert client.chat.completions.parse(**chat).choices[0].message.parsed == Item(item=17)
    with client.chat.completions.stream(**chat) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == Item(item=17)
    assert client.responses.parse(**RESPONSE, text_format=Item).output_parsed == Item(item=17)
    with client.responses.stream(**RESPONSE, text_format=Item) as stream:
        assert stream.get_final_response().output_parsed == Item(item=17)


def test_a_tool_is_called(client):
    """In one piece and in pieces."""
    tools = {"tools": [TOOL], "extra_headers": ordered(tools=1)}
    whole = client.chat.completions.create(**CHAT, **tools)
    with client.chat.completions.stream(**CHAT, **tools) as stream:
        pieces = stream.get_final_completion()
    for answer in (whole, pieces):
        assert answer.choices[0].message.tool_calls[0].function.arguments == '{"item": 17}'


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529])
def test_a_refusal_is_an_error(client, status):
    """Every status is the client's own exception."""
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(**CHAT, extra_headers=ordered(status=status))
    assert (raised.value.status_code, raised.value.code) == (status, f"code_{status}")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_is_refused_twice_is_retried_twice(client, status):
    """The client tries again at once, as often as it may."""
    again = client.with_options(max_retries=3)
    answer = again.chat.completions.with_raw_response.create(**CHAT, extra_headers=ordered(status=status, times=2))
    assert answer.retries_taken == 2
    assert answer.parse().id


@pytest.mark.parametrize("call", STREAMING[:2], ids=lambda call: call.method)
def test_streams_fail_as_ordered(client, call):
    """A connection that breaks, an error of the server and what is no JSON reach the loop as exceptions."""
    for orders, error in (
        ({"cut": 4}, (openai.APIConnectionError, httpx.RemoteProtocolError)),
        ({"error": 4}, openai.APIError),
        ({"no_json": 4}, ValueError),
    ):
        seen = []
        stream = call.on(client)(**call.kwargs, stream=True, extra_headers=ordered(**orders))
        with stream, pytest.raises(error):
            seen.extend(stream)
        assert len(seen) == 4


def test_malformed_chunks_reach_the_loop(client):
    """The client itself takes a choice without an index and no choices at all for what they are."""
    orders = ordered(no_index=2, null_choices=3)
    chunks = list(client.chat.completions.create(**CHAT, stream=True, extra_headers=orders))
    assert not hasattr(chunks[2].choices[0], "index") or chunks[2].choices[0].index is None
    assert chunks[3].choices is None


def test_ten_thousand_chunks(client):
    """A long stream comes whole."""
    orders = ordered(chunks=10_000)
    chunks = client.chat.completions.create(**CHAT, stream=True, extra_headers=orders)
    assert sum(1 for _ in chunks) == 10_002


def test_what_was_asked_can_be_read(client, server):
    """What reached the server is what the tests of unchanged requests look at."""
    client.chat.completions.create(**CHAT, extra_headers={"x-remember": "1"})
    asked = httpx.get(f"{server}/asked").json()
    assert [one["body"] for one in asked] == [CHAT]
    assert httpx.get(f"{server}/asked").json() == []


def test_azure_finds_its_deployment(server):
    """A client of Azure asks below the name of its deployment."""
    with openai.AzureOpenAI(azure_endpoint=server, api_key="sk", api_version="2024-10-21") as client:
        assert client.chat.completions.create(**CHAT).model.startswith(MODEL)


def test_async_clients_work_too(with_async_client):
    """The asynchronous client is served alike."""

    async def scenario(client):
        stream = await client.responses.create(**RESPONSE, stream=True)
        return [event.type async for event in stream]

    assert with_async_client(scenario)[-1] == "response.completed"


def test_a_format_can_be_asked_for(client):
    """A schema makes the answer JSON."""
    answer = client.chat.completions.create(**CHAT, response_format=FORMAT)
    assert answer.choices[0].message.content == '{"item": 17}'
