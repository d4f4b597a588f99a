"""Response -> span attributes: models read field by field, never dumped.

Each reader takes a model of the client's or, where the caller asked for the raw response, the decoded JSON.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai._fields import field, items, text, whole
from otel_fastpath.wrap.openai._requests import is_compacted

# What `incomplete_details.reason` is called among finish reasons.
_INCOMPLETE: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
_TOOL_CALLS: Final = frozenset({"function_call", "custom_tool_call", "computer_call"})
_ENDED: Final = frozenset({None, "completed", "incomplete"})
_BYTES_OF_A_FLOAT: Final = 4


def chat(result: Any, attributes: dict[str, Any]) -> None:
    """A chat completion."""
    _identity(result, attributes)
    choices = field(result, "choices")
    if choices:
        attributes[names.FINISH_REASONS] = [field(choice, "finish_reason") or "error" for choice in choices]
    tier = field(result, "service_tier")
    if tier:
        attributes[names.RESPONSE_TIER] = tier
    fingerprint = field(result, "system_fingerprint")
    if fingerprint:
        attributes[names.FINGERPRINT] = fingerprint
    chat_usage(field(result, "usage"), attributes)


def chat_usage(usage: Any, attributes: dict[str, Any]) -> None:
    """What a chat completion, or the last chunk of a streamed one, says of tokens."""
    if not usage:
        return
    _count(attributes, names.INPUT_TOKENS, field(usage, "prompt_tokens"))
    _count(attributes, names.OUTPUT_TOKENS, field(usage, "completion_tokens"))
    details = field(usage, "prompt_tokens_details")
    if details is not None:
        _part(attributes, names.CACHE_READ, field(details, "cached_tokens"))
        _part(attributes, names.CACHE_WRITE, field(details, "cache_write_tokens"))
        _part(attributes, names.AUDIO_INPUT, whole(field(details, "audio_tokens")))
    details = field(usage, "completion_tokens_details")
    if details is not None:
        _part(attributes, names.REASONING_TOKENS, field(details, "reasoning_tokens"))
        _part(attributes, names.AUDIO_OUTPUT, whole(field(details, "audio_tokens")))


def response(result: Any, attributes: dict[str, Any]) -> None:
    """A response of the Responses API, in its final state or on the way to it."""
    _identity(result, attributes)
    tier = field(result, "service_tier")
    if tier is not None:
        attributes[names.RESPONSE_TIER] = tier
    usage = field(result, "usage")
    if usage is not None:
        response_usage(usage, attributes)
    reasons = finish_reasons(result)
    if reasons:
        attributes[names.FINISH_REASONS] = reasons
    if is_compacted(field(result, "output")):
        attributes[names.COMPACTED] = True


def response_usage(usage: Any, attributes: dict[str, Any]) -> None:
    """What a response says of tokens."""
    _count(attributes, names.INPUT_TOKENS, field(usage, "input_tokens"))
    _count(attributes, names.OUTPUT_TOKENS, field(usage, "output_tokens"))
    details = field(usage, "input_tokens_details")
    if details is not None:
        written = field(details, "cache_write_tokens")
        if written is None:
            written = field(details, "cache_creation_input_tokens")
        _part(attributes, names.CACHE_WRITE, written)
        _part(attributes, names.CACHE_READ, field(details, "cached_tokens"))
    _part(attributes, names.REASONING_TOKENS, field(field(usage, "output_tokens_details"), "reasoning_tokens"))


def response_error(result: Any) -> tuple[str, str | None] | None:
    """The error that a response tells of."""
    error = field(result, "error")
    return None if error is None else (field(error, "code") or names.OTHER_ERROR, field(error, "message"))


def finish_reasons(result: Any) -> list[str]:
    """Why a response ended, one reason of each kind, in order; nothing while it is on its way."""
    status = field(result, "status")
    whole_reason = reason_of(status, field(field(result, "incomplete_details"), "reason"))
    if status in {"failed", "cancelled", "incomplete"}:
        return [whole_reason] if whole_reason else []
    if status in {"queued", "in_progress"}:
        return []
    found: dict[str, None] = {}
    for item in items(field(result, "output")):
        kind = field(item, "type")
        if kind in _TOOL_CALLS:
            if field(item, "status") in _ENDED:
                found["tool_calls"] = None
        elif kind == "message":
            reason = reason_of(field(item, "status"))
            if reason is not None:
                found[reason] = None
    return list(found) or ([whole_reason] if whole_reason else [])


def reason_of(status: Any, incomplete: Any = None) -> str | None:
    """A status as a finish reason."""
    if status == "completed":
        return "stop"
    if status in {"failed", "cancelled"}:
        return "error"
    if status == "incomplete":
        return "incomplete" if incomplete is None else _INCOMPLETE.get(incomplete, incomplete)
    return None


def fetched(result: Any, attributes: dict[str, Any]) -> None:
    """A response that was generated earlier: its tokens were counted then."""
    model = field(result, "model")
    if model is not None:
        attributes[names.RESPONSE_MODEL] = model
    status = field(result, "status")
    if status is not None:
        attributes[names.RESPONSE_STATUS] = status
    reasons = finish_reasons(result)
    if reasons:
        attributes[names.FINISH_REASONS] = reasons
    tier = field(result, "service_tier")
    if tier is not None:
        attributes[names.RESPONSE_TIER] = tier


def embeddings(result: Any, attributes: dict[str, Any]) -> None:
    """Embedding vectors, of which only the length is looked at."""
    model = field(result, "model")
    if model:
        attributes[names.RESPONSE_MODEL] = model
    data = field(result, "data")
    vector = field(data[0], "embedding") if data else None
    if vector:
        attributes[names.DIMENSIONS] = _dimensions(vector) if isinstance(vector, str) else len(vector)
    usage = field(result, "usage")
    if usage:
        _count(attributes, names.INPUT_TOKENS, field(usage, "prompt_tokens"))


def _dimensions(vector: str) -> int:
    """How many floats there are in their base64 form."""
    return (len(vector) * 3 // 4 - vector.count("=", -2)) // _BYTES_OF_A_FLOAT


def anything(result: Any, attributes: dict[str, Any]) -> None:
    """Whatever else a model answers with: completions, images, transcripts, moderations, decisions."""
    _identity(result, attributes)
    choices = items(field(result, "choices"))
    reasons = [reason for choice in choices if (reason := field(choice, "finish_reason"))]
    if reasons:
        attributes[names.FINISH_REASONS] = reasons
    status = text(field(result, "status"))
    if status:
        attributes[names.RESPONSE_STATUS] = status
    any_usage(field(result, "usage"), attributes)


def any_usage(usage: Any, attributes: dict[str, Any]) -> None:
    """What an answer says of tokens, in the words of either API, with their kinds."""
    if not usage:
        return
    chat_usage(usage, attributes)
    response_usage(usage, attributes)
    for name, text_tokens, image_tokens, audio_tokens in (
        ("input_tokens_details", names.TEXT_INPUT, names.IMAGE_INPUT, names.AUDIO_INPUT),
        ("output_tokens_details", names.TEXT_OUTPUT, names.IMAGE_OUTPUT, names.AUDIO_OUTPUT),
    ):
        details = field(usage, name) or field(usage, name.replace("tokens", "token", 1))
        if details is not None:
            _part(attributes, text_tokens, whole(field(details, "text_tokens")))
            _part(attributes, image_tokens, whole(field(details, "image_tokens")))
            _part(attributes, audio_tokens, whole(field(details, "audio_tokens")))


def nothing(result: Any, attributes: dict[str, Any]) -> None:
    """An answer that is not looked at."""


def _identity(result: Any, attributes: dict[str, Any]) -> None:
    model = field(result, "model")
    if model and isinstance(model, str):
        attributes[names.RESPONSE_MODEL] = model
    own = field(result, "id")
    if own and isinstance(own, str):
        attributes[names.RESPONSE_ID] = own


def _count(attributes: dict[str, Any], name: str, value: Any) -> None:
    if value is not None:
        attributes[name] = value


def _part(attributes: dict[str, Any], name: str, value: Any) -> None:
    """A count of some of the tokens; none of them is not worth an attribute."""
    if value:
        attributes[name] = value
