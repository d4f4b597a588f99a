"""Response -> span attributes: models read field by field, never dumped.

Each reader takes a model of the client's or, where the caller asked for the raw response, the decoded JSON.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai._fields import Loose, field, items, text, tolerant, whole
from otel_fastpath.wrap.openai._requests import is_compacted

# What `incomplete_details.reason` is called among finish reasons.
_INCOMPLETE: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
_TOOL_CALLS: Final = frozenset({"function_call", "custom_tool_call", "computer_call"})
_ENDED: Final = frozenset({None, "completed", "incomplete"})
_BYTES_OF_A_FLOAT: Final = 4


@tolerant
def chat(result: Any, attributes: dict[str, Any]) -> None:
    """A chat completion."""
    _identity(result, attributes)
    if choices := result.choices:
        attributes[names.FINISH_REASONS] = [choice.finish_reason or "error" for choice in choices]
    if tier := result.service_tier:
        attributes[names.RESPONSE_TIER] = tier
    if fingerprint := result.system_fingerprint:
        attributes[names.FINGERPRINT] = fingerprint
    if usage := result.usage:
        chat_usage(usage, attributes)


@tolerant
def chat_usage(usage: Any, attributes: dict[str, Any]) -> None:
    """What a chat completion, or the last chunk of a streamed one, says of tokens."""
    if (count := usage.prompt_tokens) is not None:
        attributes[names.INPUT_TOKENS] = count
    if (count := usage.completion_tokens) is not None:
        attributes[names.OUTPUT_TOKENS] = count
    # Of some of the tokens: that there are none is not worth an attribute.
    if details := usage.prompt_tokens_details:
        if count := details.cached_tokens:
            attributes[names.CACHE_READ] = count
        if count := field(details, "cache_write_tokens"):
            attributes[names.CACHE_WRITE] = count
        if (count := details.audio_tokens) and whole(count):
            attributes[names.AUDIO_INPUT] = count
    if details := usage.completion_tokens_details:
        if count := details.reasoning_tokens:
            attributes[names.REASONING_TOKENS] = count
        if (count := details.audio_tokens) and whole(count):
            attributes[names.AUDIO_OUTPUT] = count


@tolerant
def response(result: Any, attributes: dict[str, Any]) -> None:
    """A response of the Responses API, in its final state or on the way to it."""
    _identity(result, attributes)
    if (tier := result.service_tier) is not None:
        attributes[names.RESPONSE_TIER] = tier
    if usage := result.usage:
        response_usage(usage, attributes)
    if reasons := finish_reasons(result):
        attributes[names.FINISH_REASONS] = reasons
    if is_compacted(result.output):
        attributes[names.COMPACTED] = True


@tolerant
def response_usage(usage: Any, attributes: dict[str, Any]) -> None:
    """What a response says of tokens."""
    if (count := usage.input_tokens) is not None:
        attributes[names.INPUT_TOKENS] = count
    if (count := usage.output_tokens) is not None:
        attributes[names.OUTPUT_TOKENS] = count
    if details := usage.input_tokens_details:
        count = field(details, "cache_write_tokens")
        if count is None:
            count = field(details, "cache_creation_input_tokens")
        if count:
            attributes[names.CACHE_WRITE] = count
        if count := details.cached_tokens:
            attributes[names.CACHE_READ] = count
    if (details := usage.output_tokens_details) and (count := details.reasoning_tokens):
        attributes[names.REASONING_TOKENS] = count


def response_error(result: Any) -> tuple[str, str | None] | None:
    """The error that a response tells of."""
    error = field(result, "error")
    return None if error is None else (field(error, "code") or names.OTHER_ERROR, field(error, "message"))


def finish_reasons(result: Any) -> list[str]:
    """Why a response ended, one reason of each kind, in order; nothing while it is on its way."""
    status = result.status
    details = result.incomplete_details
    whole_reason = reason_of(status, details.reason if details else None)
    if status in {"failed", "cancelled", "incomplete"}:
        return [whole_reason] if whole_reason else []
    if status in {"queued", "in_progress"}:
        return []
    found: dict[str, None] = {}
    for item in items(result.output):
        kind = item.type
        if kind in _TOOL_CALLS:
            # Calls of custom tools have no status.
            if field(item, "status") in _ENDED:
                found["tool_calls"] = None
        elif kind == "message":
            reason = reason_of(item.status)
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


@tolerant
def fetched(result: Any, attributes: dict[str, Any]) -> None:
    """A response that was generated earlier: its tokens were counted then."""
    if (model := result.model) is not None:
        attributes[names.RESPONSE_MODEL] = model
    if (status := result.status) is not None:
        attributes[names.RESPONSE_STATUS] = status
    if (tier := result.service_tier) is not None:
        attributes[names.RESPONSE_TIER] = tier
    if reasons := finish_reasons(result):
        attributes[names.FINISH_REASONS] = reasons


@tolerant
def embeddings(result: Any, attributes: dict[str, Any]) -> None:
    """Embedding vectors, of which only the length is looked at."""
    if model := result.model:
        attributes[names.RESPONSE_MODEL] = model
    vector = field(result.data[0], "embedding") if result.data else None
    if vector:
        attributes[names.DIMENSIONS] = _dimensions(vector) if isinstance(vector, str) else len(vector)
    if (usage := result.usage) and (count := usage.prompt_tokens) is not None:
        attributes[names.INPUT_TOKENS] = count


def _dimensions(vector: str) -> int:
    """How many floats there are in their base64 form."""
    return (len(vector) * 3 // 4 - vector.count("=", -2)) // _BYTES_OF_A_FLOAT


def anything(result: Any, attributes: dict[str, Any]) -> None:
    """Whatever else a model answers with: completions, images, transcripts, moderations, decisions."""
    read = Loose(result)
    _identity(read, attributes)
    reasons = [choice.finish_reason for choice in items(read.choices) if choice.finish_reason]
    if reasons:
        attributes[names.FINISH_REASONS] = reasons
    status = text(read.status)
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
    if (model := result.model) and isinstance(model, str):
        attributes[names.RESPONSE_MODEL] = model
    if (own := result.id) and isinstance(own, str):
        attributes[names.RESPONSE_ID] = own


def _part(attributes: dict[str, Any], name: str, value: Any) -> None:
    """A count of some of the tokens; none of them is not worth an attribute."""
    if value:
        attributes[name] = value
