"""Answers that are made up, and what gives them in the place of a server."""

from __future__ import annotations

import json

try:
    import httpx2 as http
except ModuleNotFoundError:  # releases of openai before 3 are made on httpx
    import httpx as http

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "status": "completed",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-2024",
    "service_tier": "default",
    "system_fingerprint": "fp_1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}


def chunk(content=None, finish_reason=None, usage=None):
    """A chunk of a streamed chat completion."""
    choices = [] if usage else [{"index": 0, "delta": {"content": content}, "finish_reason": finish_reason}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-2024"}
    return {**head, "choices": choices, "usage": usage}


def refusal(status):
    """An answer that says no."""
    return http.Response(status, json={"error": {"message": "no", "code": "gone"}})


def answer(answers, asked):
    """A handler that gives these answers in turn, the last one again and again: a body, chunks, or a response."""
    left = list(answers)

    def handle(request):
        asked.append(request)
        given = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(given, http.Response):
            return given
        if isinstance(given, list):
            lines = [each if isinstance(each, bytes) else b"data: " + json.dumps(each).encode() for each in given]
            body = b"".join(line + b"\n\n" for line in [*lines, b"data: [DONE]"])
            return http.Response(200, content=body, headers={"content-type": "text/event-stream"})
        return http.Response(200, json=given)

    return handle
