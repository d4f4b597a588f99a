"""A server that implements OpenAI's protocol with generated answers, so that no example needs a key or a network.

Chat completions (plain, streamed, with tools), embeddings, the list of models, and errors in OpenAI's own shape. The
same question always gets the same answer. Three models fail on purpose: `fault-400`, `fault-429` and `fault-500`.

    python -m examples.openai_server --port 8081
"""

import argparse
import array
import base64
import hashlib
import itertools
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

CHAT_MODELS = ("gpt-4o-mini", "gpt-4o")
EMBEDDING_MODELS = ("text-embedding-3-small",)
FAULTS = {
    "fault-400": (400, "invalid_request_error", "invalid_value"),
    "fault-429": (429, "rate_limit_error", "rate_limit_exceeded"),
    "fault-500": (500, "server_error", None),
}
FINGERPRINT = "fp_example0001"
SPEECH = (
    "a good piece of furniture lasts for years when it is made of solid wood and looked after with care "
    "so measure your room first and take the one that fits it best"
)
REPLY_WORDS = 32


class RefusedError(Exception):
    """A request that OpenAI would refuse, with the status and the error it would give."""

    def __init__(self, status: int, kind: str, code: str | None, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": kind, "param": param, "code": code}


@dataclass(frozen=True)
class Reply:
    """What the model says: words or calls of tools, why it stopped, and the tokens it counted."""

    words: list[str]
    tool_calls: list[dict[str, Any]]
    finish_reason: str
    prompt_tokens: int

    @property
    def usage(self) -> dict[str, Any]:
        """The usage object of the completion."""
        arguments = sum(len(call["function"]["arguments"]) for call in self.tool_calls)
        completion = len(self.words) + arguments
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }


def reply_to(body: dict[str, Any]) -> Reply:
    """Make the reply up from the request alone, so that the same request always gets the same one."""
    messages = body["messages"]
    prompt_tokens = sum(3 + len(_text(message).split()) for message in messages)
    last = messages[-1]
    if body.get("tools") and body.get("tool_choice") != "none" and last["role"] == "user":
        return Reply([], [_tool_call(body["tools"][0]["function"], _text(last))], "tool_calls", prompt_tokens)
    said = _text(last).split()[:8]
    endless = itertools.chain(["You", "asked:", *said, "-"], itertools.cycle(SPEECH.split()))
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or REPLY_WORDS
    words = list(itertools.islice(endless, min(limit, REPLY_WORDS)))
    return Reply(words, [], "length" if limit < REPLY_WORDS else "stop", prompt_tokens)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def _tool_call(function: dict[str, Any], question: str) -> dict[str, Any]:
    """A call of the tool with every parameter that it asks for, filled with the number in the question."""
    number = re.search(r"\d+", question)
    value = int(number[0]) if number else 1
    properties = function.get("parameters", {}).get("properties", {})
    arguments = {name: value if spec.get("type") == "integer" else str(value) for name, spec in properties.items()}
    return {
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": function["name"], "arguments": json.dumps(arguments)},
    }


def chunks(body: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed completion, as the protocol has them: role, content or tool calls, end, usage."""
    usage_wanted = bool((body.get("stream_options") or {}).get("include_usage"))
    head = {**_head("chat.completion.chunk", body["model"]), **({"usage": None} if usage_wanted else {})}

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant", "content": None if reply.tool_calls else "", "refusal": None})
    for position, word in enumerate(reply.words):
        yield chunk({"content": word if position == 0 else f" {word}"})
    for index, call in enumerate(reply.tool_calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        start = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [start]})
        for at in range(0, len(arguments), 6):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[at : at + 6]}}]})
    yield chunk({}, reply.finish_reason)
    if usage_wanted:
        yield {**head, "choices": [], "usage": reply.usage}


def completion(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """The completion in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": " ".join(reply.words) or None, "refusal": None}
    if reply.tool_calls:
        message["tool_calls"] = reply.tool_calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}
    return {**_head("chat.completion", body["model"]), "choices": [choice], "usage": reply.usage}


def _head(kind: str, model: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:29]}",
        "object": kind,
        "created": int(time.time()),
        "model": f"{model}-2024-07-18",
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def embedding(text: str, dimensions: int = 64) -> list[float]:
    """A vector that depends on the text alone; its numbers are the same in single precision."""
    digest = hashlib.shake_128(text.encode()).digest(dimensions)
    return [(byte - 127.5) / 1024 for byte in digest]


async def create_completion(request: Request) -> Response:
    """POST /v1/chat/completions."""
    body = await _body(request, CHAT_MODELS)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError(400, "invalid_request_error", None, "Missing required parameter: 'messages'.", "messages")
    reply = reply_to(body)
    if not body.get("stream"):
        return JSONResponse(completion(body, reply), headers=_headers())

    async def events() -> AsyncIterator[bytes]:
        for chunk in chunks(body, reply):
            yield b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers=_headers())


async def create_embeddings(request: Request) -> Response:
    """POST /v1/embeddings."""
    body = await _body(request, EMBEDDING_MODELS)
    texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input") or []
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        vector = embedding(str(text), body.get("dimensions") or 64)
        packed = base64.b64encode(array.array("f", vector).tobytes()).decode()
        shown = packed if body.get("encoding_format") == "base64" else vector
        data.append({"object": "embedding", "index": index, "embedding": shown})
    tokens = sum(len(str(text).split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JSONResponse({"object": "list", "data": data, "model": body["model"], "usage": usage}, headers=_headers())


async def list_models(request: Request) -> Response:
    """GET /v1/models."""
    _authorise(request)
    data = [
        {"id": name, "object": "model", "created": 0, "owned_by": "examples"} for name in CHAT_MODELS + EMBEDDING_MODELS
    ]
    return JSONResponse({"object": "list", "data": data}, headers=_headers())


async def _body(request: Request, models: tuple[str, ...]) -> dict[str, Any]:
    _authorise(request)
    try:
        body = json.loads(await request.body())
    except ValueError as error:
        raise RefusedError(400, "invalid_request_error", None, "The body is not JSON.") from error
    model = body.get("model") if isinstance(body, dict) else None
    if model in FAULTS:
        raise RefusedError(*FAULTS[model], f"{model} fails on purpose.")
    if model not in models:
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise RefusedError(404, "invalid_request_error", "model_not_found", message, "model")
    return dict(body)


def _authorise(request: Request) -> None:
    if not request.headers.get("authorization", "").startswith("Bearer "):
        raise RefusedError(401, "invalid_request_error", "invalid_api_key", "You didn't provide an API key.")


def _headers() -> dict[str, str]:
    return {"x-request-id": f"req_{uuid.uuid4().hex}", "openai-version": "2020-10-01", "openai-processing-ms": "1"}


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, RefusedError):
        raise error
    # The client retries 429 and 5xx after a pause unless told not to: a demo that waits measures nothing.
    headers = {**_headers(), "x-should-retry": "false"}
    return JSONResponse({"error": error.error}, error.status, headers)


app = Starlette(
    routes=[
        Route("/v1/chat/completions", create_completion, methods=["POST"]),
        Route("/v1/embeddings", create_embeddings, methods=["POST"]),
        Route("/v1/models", list_models),
    ],
    exception_handlers={RefusedError: _refused},
)


def main() -> None:
    """Serve on loopback until stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8081)
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
