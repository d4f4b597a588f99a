"""The HTTP response below a stream: its closing methods are wrapped, and everything else about it is as without us."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
from madeup import CHAT, chunk
from newer_releases import needs

from otel_fastpath.patching import faults

ASK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
CHUNKS = [chunk("He"), chunk("llo"), chunk("", finish_reason="stop")]

closed_at_the_end = needs("openai", "2.9", "the first that closes a response once its stream has been read")


@pytest.fixture(autouse=True)
def no_fault():
    """No test makes our own code fail."""
    before = faults.counts()
    yield
    assert faults.counts() == before


def read_to_the_end(client):
    """A stream that is read to its end."""
    stream = client.chat.completions.create(**ASK, stream=True)
    list(stream)
    return stream.response


def left_early(client):
    """A stream that is left by its `with`."""
    with client.chat.completions.create(**ASK, stream=True) as stream:
        next(stream)
    return stream.response


def parsed_from_raw(client):
    """A stream that a raw response is parsed into: its response is wrapped twice."""
    raw = client.chat.completions.with_raw_response.create(**ASK, stream=True)
    list(raw.parse())
    return raw.http_response


def never_parsed(client):
    """A raw response whose stream nobody reads."""
    raw = client.chat.completions.with_raw_response.create(**ASK, stream=True)
    raw.http_response.close()
    return raw.http_response


def read_in_with(client):
    """A response that is read within its `with`."""
    with client.chat.completions.with_streaming_response.create(**ASK) as raw:
        raw.read()
    return raw.http_response


@pytest.mark.parametrize(
    ("way", "answer"),
    [
        pytest.param(read_to_the_end, CHUNKS, marks=closed_at_the_end),
        (left_early, CHUNKS),
        pytest.param(parsed_from_raw, CHUNKS, marks=closed_at_the_end),
        (never_parsed, CHUNKS),
        (read_in_with, CHAT),
    ],
)
def test_a_closing_method_of_the_hosts_own_is_called(told, client, way, answer):
    """It may have put one on the response, in an event hook or a transport, and finds it there afterwards."""
    closed, stored = [], []

    def hook(response):
        original = response.close

        def close():
            closed.append(response)
            original()

        response.close = close
        stored.append(close)

    made = client(answer)
    made._client.event_hooks = {"response": [hook]}

    response = way(made)

    assert set(closed) == {response}
    assert response.is_closed
    assert vars(response)["close"] is stored[0]
    assert "aclose" not in vars(response)
    assert len(told.spans()) == 1


@closed_at_the_end
def test_an_asynchronous_closing_method_of_the_hosts_own_is_called(told, run_async):
    """Likewise."""
    closed = []

    async def hook(response):
        original = response.aclose

        async def aclose():
            closed.append(response)
            await original()

        response.aclose = aclose

    async def scenario(client):
        client._client.event_hooks = {"response": [hook]}
        stream = await client.chat.completions.create(**ASK, stream=True)
        return stream.response, [each async for each in stream]

    response, chunks = run_async(scenario, CHUNKS)

    assert len(chunks) == len(CHUNKS)
    assert set(closed) == {response}
    assert "close" not in vars(response)
    assert len(told.spans()) == 1


@pytest.mark.parametrize("copied", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy])  # noqa: S301  # ours
def test_a_response_can_be_copied_within_its_with(told, client, copied):
    """As without us; closing the copy is nothing to the call."""
    with client(CHAT).chat.completions.with_streaming_response.create(**ASK) as raw:
        raw.read()
        made = copied(raw.http_response)
        made.close()
        assert told.spans() == ()

    assert made.content == raw.http_response.content
    assert made.is_closed
    (span,) = told.spans()
    assert span.attributes["gen_ai.response.id"] == "chatcmpl-1"


@pytest.mark.parametrize("copied", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy])  # noqa: S301  # ours
def test_the_response_of_a_stream_can_be_copied(told, client, copied):
    """A raw one, which the call is kept with, and one that is being read."""
    raw = client(CHUNKS).chat.completions.with_raw_response.create(**ASK, stream=True)
    copied(raw.http_response).close()
    stream = raw.parse()
    next(stream)
    copied(raw.http_response).close()
    gc.collect()
    assert told.spans() == ()

    assert len(list(stream)) == len(CHUNKS) - 1
    (span,) = told.spans()
    assert span.attributes["gen_ai.response.finish_reasons"] == ("stop",)


def test_a_pickled_response_is_read_without_this_package(told, client):  # noqa: ARG001  # it is instrumented
    """By another service, for example."""
    with client(CHAT).chat.completions.with_streaming_response.create(**ASK) as raw:
        raw.read()
        assert b"otel_fastpath" not in pickle.dumps(raw.http_response)
