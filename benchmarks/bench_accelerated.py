"""The parts of OpenLLMetry's and OpenInference's OpenAI instrumentations that we replace, per call and per stream.

    make budget NAME=accelerated

Each is measured in an environment with it (`examples/founding_case/environments`), unpatched and with our patches.
"""

from __future__ import annotations

from typing import Any

# Scenarios are counted in forks: modules that every set-up imports are imported before the fork.
from openai import OpenAI
from openai._models import construct_type
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from opentelemetry.trace import INVALID_SPAN

from otel_fastpath import FastpathInstrumentor

CHUNKS = 20
REQUEST = {
    "model": "gpt-4o-mini",
    "temperature": 0.2,
    "messages": [
        {"role": "system", "content": "You sell furniture."},
        {"role": "user", "content": [{"type": "text", "text": "What is item 17 made of?"}]},
    ],
}


class Given:
    """The objects that the callables of this file use.

    Attributes:
        of: The module whose functions are called; each call looks them up in it, as the module itself does.
        client: OpenAI's client.
        chunks: The chunks of a streamed answer.
        pieces: The pieces of a streamed legacy completion.
    """

    def __init__(self, of: Any, patches: tuple[str, ...]) -> None:
        if patches:
            instrumentor = FastpathInstrumentor()
            instrumentor.instrument(openai="off")
            states = {row.name: (row.state.value, row.reason) for row in instrumentor.status()}
            lost = {name: states[name] for name in patches if states[name][0] != "applied"}
            if lost:
                raise RuntimeError(f"not applied: {lost}")
        self.of = of
        self.client = OpenAI(api_key="sk-bench", base_url="http://localhost:1/v1")
        self.chunks: list[Any] = [
            construct_type(
                type_=ChatCompletionChunk,
                value={
                    "id": "chatcmpl-1",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "gpt-4o-mini",
                    "choices": [{"index": 0, "delta": {"content": f" word{number}"}, "finish_reason": None}],
                },
            )
            for number in range(CHUNKS)
        ]
        self.pieces: list[Any] = [
            construct_type(
                type_=Completion,
                value={
                    "id": "cmpl-1",
                    "object": "text_completion",
                    "created": 1,
                    "model": "gpt-3.5-turbo-instruct",
                    "choices": [{"index": 0, "text": f" word{number}", "logprobs": None, "finish_reason": None}],
                },
            )
            for number in range(CHUNKS)
        ]


def openllmetry() -> Given:
    """OpenLLMetry's instrumentation, unpatched."""
    return _openllmetry()


def openllmetry_with_us() -> Given:
    """OpenLLMetry's instrumentation with our patches."""
    return _openllmetry("openllmetry.run_async", "openllmetry.accumulate")


def _openllmetry(*patches: str) -> Given:
    from opentelemetry.instrumentation.openai.shared import chat_wrappers  # noqa: PLC0415  # not in every environment

    return Given(chat_wrappers, patches)


def openinference() -> Given:
    """OpenInference's instrumentation, unpatched."""
    return _openinference()


def openinference_with_us() -> Given:
    """OpenInference's instrumentation with our patches."""
    names = ("redact", "accumulate", "chat_chunk", "chunk")
    return _openinference(*(f"openinference.{name}" for name in names))


def _openinference(*patches: str) -> Given:
    from openinference.instrumentation.openai import _request  # noqa: PLC0415  # likewise

    return Given(_request, patches)


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def openllmetry_call(given: Given) -> None:
    """The work of a synchronous call before its request, on a span that does not record."""
    given.of.run_async(given.of._handle_request(INVALID_SPAN, REQUEST, given.client))


def openllmetry_stream(given: Given) -> None:
    """What is made of 20 chunks of text."""
    complete: dict[str, Any] = {"choices": [], "model": ""}
    for chunk in given.chunks:
        given.of._accumulate_stream_items(chunk, complete)


def openinference_call(given: Given) -> None:
    """The processing of the request before it is read."""
    given.of.redact_images_from_request_parameters(dict(REQUEST), False, 32_000)  # noqa: FBT003  # as it is called


def openinference_stream(given: Given) -> None:
    """What is made of 20 chunks of text."""
    accumulator = given.of._ChatCompletionAccumulator(REQUEST, ChatCompletion)
    for chunk in given.chunks:
        accumulator.process_chunk(chunk)


def openinference_legacy_stream(given: Given) -> None:
    """What is made of 20 pieces of a legacy completion."""
    accumulator = given.of._CompletionAccumulator(REQUEST, Completion)
    for piece in given.pieces:
        accumulator.process_chunk(piece)
