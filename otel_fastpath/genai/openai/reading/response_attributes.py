"""Response -> span attributes: models read field by field, never dumped.

Most attributes are read by tables of rules, see `reading.models.read`, the rest by functions. Both take a model of the
client or, if the caller asked for the raw response, the decoded JSON.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai.fields import Loose, field, items, text, tolerant, whole
from otel_fastpath.genai.openai.requests import is_compacted
from otel_fastpath.genai.rule_kinds import GIVEN, INTO, OTHERWISE, REASONS, TEXT, TRUE, WHOLE

# `incomplete_details.reason` -> finish reason.
_INCOMPLETE: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
_TOOL_CALLS: Final = frozenset({"function_call", "custom_tool_call", "computer_call"})
_ENDED: Final = frozenset({"completed", "incomplete"})
_BYTES_OF_A_FLOAT: Final = 4


Rules = tuple[tuple[str, Any, int], ...]

# The token usage of a chat completion, or of the last chunk of a streamed one. For a subset of the tokens, zero is not
# worth an attribute.
CHAT_USAGE: Final[Rules] = (
    ("prompt_tokens", names.INPUT_TOKENS, GIVEN),
    ("completion_tokens", names.OUTPUT_TOKENS, GIVEN),
    (
        "prompt_tokens_details",
        (
            ("cached_tokens", names.CACHE_READ, TRUE),
            ("cache_write_tokens", names.CACHE_WRITE, TRUE),
            ("audio_tokens", names.AUDIO_INPUT, WHOLE),
        ),
        INTO,
    ),
    (
        "completion_tokens_details",
        (
            ("reasoning_tokens", names.REASONING_TOKENS, TRUE),
            ("audio_tokens", names.AUDIO_OUTPUT, WHOLE),
        ),
        INTO,
    ),
)
CHAT: Final[Rules] = (
    ("model", names.RESPONSE_MODEL, TEXT),
    ("id", names.RESPONSE_ID, TEXT),
    ("choices", names.FINISH_REASONS, REASONS),
    ("service_tier", names.RESPONSE_TIER, TRUE),
    ("system_fingerprint", names.FINGERPRINT, TRUE),
    ("usage", CHAT_USAGE, INTO),
)
# The token usage of a response.
RESPONSE_USAGE: Final[Rules] = (
    ("input_tokens", names.INPUT_TOKENS, GIVEN),
    ("output_tokens", names.OUTPUT_TOKENS, GIVEN),
    (
        "input_tokens_details",
        (
            ("cache_write_tokens", names.CACHE_WRITE, TRUE),
            ("cache_creation_input_tokens", names.CACHE_WRITE, OTHERWISE),
            ("cached_tokens", names.CACHE_READ, TRUE),
        ),
        INTO,
    ),
    ("output_tokens_details", (("reasoning_tokens", names.REASONING_TOKENS, TRUE),), INTO),
)
# A response of the Responses API, finished or in progress; `response` reads the rest.
RESPONSE: Final[Rules] = (
    ("model", names.RESPONSE_MODEL, TEXT),
    ("id", names.RESPONSE_ID, TEXT),
    ("service_tier", names.RESPONSE_TIER, GIVEN),
    ("usage", RESPONSE_USAGE, INTO),
)
# Embedding vectors; `embeddings` reads the rest.
EMBEDDINGS: Final[Rules] = (
    ("model", names.RESPONSE_MODEL, TRUE),
    ("usage", (("prompt_tokens", names.INPUT_TOKENS, GIVEN),), INTO),
)


def put(holder: Any, rules: Rules, attributes: dict[str, Any]) -> None:
    """Set the attributes that follow from a model or from decoded JSON by these rules."""
    hot.genai_openai_reading_models.read(holder, rules, attributes)


@tolerant
def response(result: Any, attributes: dict[str, Any]) -> None:
    """How a response ended, and whether the conversation was compacted."""
    if reasons := finish_reasons(result):
        attributes[names.FINISH_REASONS] = reasons
    if is_compacted(result.output):
        attributes[names.COMPACTED] = True


def response_error(result: Any) -> tuple[str, str | None] | None:
    """The error in a response."""
    error = field(result, "error")
    return None if error is None else (text(field(error, "code")) or names.OTHER_ERROR, text(field(error, "message")))


def finish_reasons(result: Any) -> list[str]:
    """Why a response ended: each reason once, in order; none while it is in progress."""
    status = text(result.status)
    details = result.incomplete_details
    whole_reason = reason_of(status, text(field(details, "reason")) if details else None)
    if status in {"failed", "cancelled", "incomplete"}:
        return [whole_reason] if whole_reason else []
    if status in {"queued", "in_progress"}:
        return []
    found: dict[str, None] = {}
    for item in items(result.output):
        kind = text(item.type)
        if kind in _TOOL_CALLS:
            # Calls of custom tools have no status.
            if has_ended(item):
                found["tool_calls"] = None
        elif kind == "message":
            reason = reason_of(item.status)
            if reason is not None:
                found[reason] = None
    return list(found) or ([whole_reason] if whole_reason else [])


def has_ended(item: Any) -> bool:
    """Whether an item of the output will not change any more, or never had a status."""
    status = field(item, "status")
    return status is None or (isinstance(status, str) and status in _ENDED)


def reason_of(status: Any, incomplete: str | None = None) -> str | None:
    """A status as a finish reason."""
    if not isinstance(status, str):
        return None
    if status == "completed":
        return "stop"
    if status in {"failed", "cancelled"}:
        return "error"
    if status == "incomplete":
        return "incomplete" if incomplete is None else _INCOMPLETE.get(incomplete, incomplete)
    return None


@tolerant
def set_fetched(result: Any, attributes: dict[str, Any]) -> None:
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
    """Embedding vectors, of which only the length is read."""
    vectors = items(result.data)
    vector = field(vectors[0], "embedding") if vectors else None
    if isinstance(vector, str):
        if vector:
            attributes[names.DIMENSIONS] = _dimensions(vector)
    elif vector and isinstance(vector, list):
        attributes[names.DIMENSIONS] = len(vector)


def _dimensions(vector: str) -> int:
    """How many floats there are in their base64 form."""
    return (len(vector) * 3 // 4 - vector.count("=", -2)) // _BYTES_OF_A_FLOAT


def anything(result: Any, attributes: dict[str, Any]) -> None:
    """All other answers of a model: completions, images, transcripts, moderations, decisions."""
    read = Loose(result)
    put(result, RESPONSE[:2], attributes)
    reasons = [reason for choice in items(read.choices) if (reason := text(choice.finish_reason))]
    if reasons:
        attributes[names.FINISH_REASONS] = reasons
    status = text(read.status)
    if status:
        attributes[names.RESPONSE_STATUS] = status
    any_usage(field(result, "usage"), attributes)


def any_usage(usage: Any, attributes: dict[str, Any]) -> None:
    """The token usage in an answer, by kind, with the field names of either API."""
    if not usage:
        return
    put(usage, CHAT_USAGE, attributes)
    put(usage, RESPONSE_USAGE, attributes)
    for name, text_tokens, image_tokens, audio_tokens in (
        ("input_tokens_details", names.TEXT_INPUT, names.IMAGE_INPUT, names.AUDIO_INPUT),
        ("output_tokens_details", names.TEXT_OUTPUT, names.IMAGE_OUTPUT, names.AUDIO_OUTPUT),
    ):
        details = field(usage, name) or field(usage, name.replace("tokens", "token", 1))
        if details is not None:
            _part(attributes, text_tokens, whole(field(details, "text_tokens")))
            _part(attributes, image_tokens, whole(field(details, "image_tokens")))
            _part(attributes, audio_tokens, whole(field(details, "audio_tokens")))


def _part(attributes: dict[str, Any], name: str, value: Any) -> None:
    """Set a count of a subset of the tokens; zero is not worth an attribute."""
    if value:
        attributes[name] = value
