"""What the endpoints answer in one piece: inference in full, everything else from a table."""

from __future__ import annotations

import array
import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .orders import Orders

CREATED = 1_767_225_600
WORDS = ("solid", "wood", "lasts", "for", "years", "when", "it", "is", "looked", "after", "with", "care")
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(24)).decode()

Answer = dict[str, Any]


def identity(kind: str, body: Mapping[str, Any]) -> str:
    """An id that the same request always gets."""
    return f"{kind}_{hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:24]}"


def chat_usage(orders: Orders, completion: int) -> Answer:
    """The usage of a chat completion."""
    more = 7 if orders.cached else 0
    return {
        "prompt_tokens": 11,
        "completion_tokens": completion,
        "total_tokens": 11 + completion,
        "prompt_tokens_details": {"cached_tokens": more, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": more and 5, "audio_tokens": 0},
    }


def usage(orders: Orders, output: int) -> Answer:
    """The usage of a response."""
    more = 7 if orders.cached else 0
    return {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": more},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": more and 5},
        "total_tokens": 11 + output,
    }


def words(orders: Orders) -> list[str]:
    """The words of a reply."""
    count = len(WORDS) if orders.chunks < 0 else orders.chunks
    return [WORDS[at % len(WORDS)] for at in range(count)]


def chat_head(kind: str, body: Mapping[str, Any]) -> Answer:
    """What every object of a chat begins with."""
    return {
        "id": identity("chatcmpl", body),
        "object": kind,
        "created": CREATED,
        "model": f"{body['model']}-2024-07-18",
        "service_tier": "default",
        "system_fingerprint": "fp_loopback",
    }


def tool_call(body: Mapping[str, Any]) -> Answer:
    """A call of the first tool that was offered."""
    function = body["tools"][0]["function"]["name"]
    return {"id": "call_1", "type": "function", "function": {"name": function, "arguments": '{"item": 17}'}}


def chat(body: Answer, orders: Orders) -> Answer:
    """A chat completion, with as many choices as were asked for."""
    text = '{"item": 17}' if body.get("response_format") else " ".join(words(orders))
    message: Answer = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    reason = "stop"
    if orders.tools:
        message |= {"content": None, "tool_calls": [tool_call(body)]}
        reason = "tool_calls"
    choices = [
        {"index": at, "message": message, "logprobs": None, "finish_reason": reason} for at in range(body.get("n") or 1)
    ]
    answer = {**chat_head("chat.completion", body), "choices": choices}
    return {**answer, "usage": chat_usage(orders, len(words(orders)))}


def completion(body: Answer, orders: Orders) -> Answer:
    """A legacy completion."""
    choice = {"text": " ".join(words(orders)), "index": 0, "logprobs": None, "finish_reason": "length"}
    head = {"id": identity("cmpl", body), "object": "text_completion", "created": CREATED, "model": body["model"]}
    return {**head, "choices": [choice], "usage": chat_usage(orders, len(words(orders)))}


def output(body: Mapping[str, Any], orders: Orders, *, done: bool = True) -> list[Answer]:
    """The items of a response."""
    if orders.tools:
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
        return [{**call, "name": body["tools"][0]["name"], "arguments": '{"item": 17}'}]
    text = '{"item": 17}' if (body.get("text") or {}).get("format") else " ".join(words(orders))
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    status = "completed" if done else "in_progress"
    return [
        {"type": "message", "id": "msg_1", "status": status, "role": "assistant", "content": [part] if done else []}
    ]


def response(body: Mapping[str, Any], orders: Orders, status: str = "completed") -> Answer:
    """A response, as far as it has come."""
    done = status in {"completed", "incomplete"}
    model = body.get("model", "gpt-4o-mini")
    failed = {"code": "server_error", "message": "The model failed on purpose."} if status == "failed" else None
    return {
        "id": identity("resp", {key: value for key, value in body.items() if key != "stream"}),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": bool(body.get("background")),
        "error": failed,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "model": f"{model}-2024-07-18",
        "output": output(body, orders) if done else [],
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "service_tier": "default",
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "usage": usage(orders, len(words(orders))) if done else None,
        "metadata": {},
    }


def embeddings(body: Answer, orders: Orders) -> Answer:
    """A vector for each text, in the encoding that was asked for."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    vector = [at / 1024 for at in range(body.get("dimensions") or orders.floats)]
    packed: Any = base64.b64encode(array.array("f", vector).tobytes()).decode()
    shown = packed if body.get("encoding_format") == "base64" else vector
    data = [{"object": "embedding", "index": at, "embedding": shown} for at in range(len(texts))]
    tokens = {"prompt_tokens": 3 * len(texts), "total_tokens": 3 * len(texts)}
    return {"object": "list", "data": data, "model": body["model"], "usage": tokens}


def images(_body: Answer, _orders: Orders) -> Answer:
    """One image."""
    details = {"text_tokens": 11, "image_tokens": 0}
    spent = {"input_tokens": 11, "output_tokens": 100, "total_tokens": 111, "input_tokens_details": details}
    return {
        "created": CREATED,
        "data": [{"b64_json": PIXEL}],
        "output_format": "png",
        "size": "1024x1024",
        "usage": spent,
    }


def moderation(body: Answer, _orders: Orders) -> Answer:
    """Nothing to object to."""
    result = {"flagged": False, "categories": {}, "category_scores": {}, "category_applied_input_types": {}}
    return {"id": identity("modr", body), "model": body.get("model", "omni-moderation-latest"), "results": [result]}


def decision(body: Answer, orders: Orders) -> Answer:
    """Probably."""
    answers = [{"type": "predicate", "probability": 0.75, "name": None} for _ in body["questions"]]
    return {"answers": answers, "model": body["model"], "usage": usage(orders, 1)}


def transcript(_body: Answer, _orders: Orders) -> Answer:
    """What was said."""
    spent = {"type": "tokens", "input_tokens": 14, "output_tokens": 4, "total_tokens": 18}
    return {"text": "this is the transcript", "usage": spent}


def stored(path: str, body: Mapping[str, Any]) -> Answer:
    """Any other object: what the client reads of it is its id and, of a list, its data."""
    *_, last = path.rstrip("/").split("/")
    return {
        "id": last,
        "object": "list",
        "created_at": CREATED,
        "status": "completed",
        "data": [],
        "has_more": False,
        "model": body.get("model", "gpt-4o-mini"),
        "name": body.get("name", "loopback"),
        "deleted": True,
        "input_tokens": 11,
    }


# Path below /v1 -> what answers a POST of JSON to it.
POSTED: Mapping[str, Callable[[Answer, Orders], Answer]] = {
    "chat/completions": chat,
    "completions": completion,
    "responses": response,
    "embeddings": embeddings,
    "images/generations": images,
    "images/edits": images,
    "images/variations": images,
    "moderations": moderation,
    "decisions": decision,
    "audio/transcriptions": transcript,
    "audio/translations": transcript,
}
_CHAT_ID = re.compile(r"chat/completions/[^/]+")
_RESPONSE_ID = re.compile(r"responses/resp_[^/]+(/cancel)?")


def answer(path: str, body: Answer, orders: Orders, *, is_post: bool) -> Answer:
    """What this path answers."""
    if is_post and path in POSTED:
        return POSTED[path](body, orders)
    if _CHAT_ID.fullmatch(path) and not is_post:
        return {**chat({"model": "gpt-4o-mini"}, orders), "id": path.rpartition("/")[2]}
    if found := _RESPONSE_ID.fullmatch(path):
        return {**response(body, orders, "cancelled" if found[1] else "completed"), "id": path.split("/")[1]}
    return stored(path, body)
