"""Only our hook around a call of OpenAI's client: a prepared object answers the request.

This is for the budgets. `bench_openai.py` measures whole calls of the client, which take a hundred times as much.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import bench_openai

# Scenarios are counted in forks: modules that every set-up imports are imported before the fork.
import httpx2
import openai
from bench_openai import CAPTURE, CHAT, CHUNKS, RESPONSE, chat_answer, chat_chunks, response_answer, response_events
from openai._base_client import SyncAPIClient
from openai._models import FinalRequestOptions, construct_type
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from otel_fastpath import FastpathInstrumentor
from otel_fastpath import compiled as cores

if TYPE_CHECKING:
    from collections.abc import Iterator


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: The stub alone.
        request: The stub inside our hook, as the client would call it.
    """

    def __init__(self, stub: Any, request: Any) -> None:
        self.client = openai.OpenAI(api_key="sk-bench", base_url="http://localhost:1/v1")
        self.bare, self.request = stub, request

        def options(path: str, body: dict[str, Any]) -> Any:
            return FinalRequestOptions.construct(method="post", url=path, json_data=body)

        def built(kind: Any, values: list[dict[str, Any]]) -> list[Any]:
            return [construct_type(type_=kind, value=value) for value in values]

        self.chat = options("/chat/completions", CHAT), built(ChatCompletion, [chat_answer()])[0]
        self.responses = options("/responses", RESPONSE), built(Response, [response_answer()])[0]
        stream = {**CHAT, "stream": True}
        self.chunks = {n: built(ChatCompletionChunk, chat_chunks(n)) for n in (0, CHUNKS)}
        self.chat_stream = options("/chat/completions", stream)
        self.events = {n: built(ResponseStreamEvent, response_events(n)) for n in (0, CHUNKS)}
        self.responses_stream = options("/responses", {**RESPONSE, "stream": True})
        self._response = httpx2.Response
        self._stream = openai.Stream

    def stream(self, chunks: list[Any]) -> Any:
        """A client's stream that reads from a list."""
        made = self._stream(cast_to=object, response=self._response(200), client=self.client)
        made._iterator = _each(chunks)
        return made


def _each(chunks: list[Any]) -> Iterator[Any]:
    yield from chunks


def _stub(self: Any, cast_to: Any, options: Any, **kwargs: Any) -> Any:  # noqa: ARG001  # the client's signature
    return cast_to


def _hooked(core: str, content: str = "no_content", *, sampled: bool = True) -> Given:
    # Replace both before the wrapper inspects them.
    os.environ[CAPTURE] = content
    SyncAPIClient.request = _stub  # type: ignore[assignment, method-assign]
    bench_openai.provide(sampled=sampled)
    FastpathInstrumentor().instrument(core=core, openai="on")
    if cores.implementation()[0] != core:
        raise RuntimeError(f"the {core!r} core is not there: {cores.implementation()[1]}")
    return Given(_stub, SyncAPIClient.request)


def compiled() -> Given:
    """With the compiled core."""
    return _hooked("c")


def pure() -> Given:
    """With the pure core."""
    return _hooked("py")


def compiled_content() -> Given:
    """With the compiled core, content captured."""
    return _hooked("c", "span_only")


def compiled_dropped() -> Given:
    """With the compiled core, no span sampled, no metrics."""
    return _hooked("c", sampled=False)


def chat_bare(given: Given) -> None:
    """The stub."""
    options, answer = given.chat
    given.bare(given.client, answer, options)


def chat(given: Given) -> None:
    """A chat completion."""
    options, answer = given.chat
    given.request(given.client, answer, options)


def responses_bare(given: Given) -> None:
    """The stub."""
    options, answer = given.responses
    given.bare(given.client, answer, options)


def responses(given: Given) -> None:
    """A response."""
    options, answer = given.responses
    given.request(given.client, answer, options)


def chat_stream_bare(given: Given) -> None:
    """The stub, and a stream of 20 chunks of text."""
    _read(given, given.bare, given.chat_stream, given.chunks[CHUNKS])


def chat_stream(given: Given) -> None:
    """A streamed chat completion."""
    _read(given, given.request, given.chat_stream, given.chunks[CHUNKS])


def responses_stream_bare(given: Given) -> None:
    """The stub, and a stream of 20 events with text."""
    _read(given, given.bare, given.responses_stream, given.events[CHUNKS])


def responses_stream(given: Given) -> None:
    """A streamed response."""
    _read(given, given.request, given.responses_stream, given.events[CHUNKS])


def _read(given: Given, request: Any, options: Any, chunks: list[Any]) -> None:
    for _ in request(given.client, given.stream(chunks), options, stream=True):
        pass
