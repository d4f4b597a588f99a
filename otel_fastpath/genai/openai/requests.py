"""Request body -> span attributes: for each endpoint a table of body keys, see `reading.models.read_body`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai.fields import field, items, text, whole
from otel_fastpath.genai.rule_kinds import CALL, FIRST, GIVEN, ITEMS, NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

Rules = dict[str, tuple[Any, int]]


def _put(name: str, check: Callable[[Any], Any], attributes: dict[str, Any], value: Any) -> None:
    checked = check(value)
    if checked is not None:
        attributes[name] = checked


def _stop(value: Any) -> Any:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else None


def _choices(value: Any) -> Any:
    return value if isinstance(value, int) and value != 1 else None


def _tier(value: Any) -> Any:
    return value if value != "auto" else None


def _text_tier(value: Any) -> Any:
    return value if isinstance(value, str) and value != "auto" else None


def _format(value: Any) -> Any:
    """The output type that `response_format` asks for: a word, or an object with a `type`."""
    kind = text(value.get("type") if isinstance(value, Mapping) else value)
    return "json" if kind in {"json_object", "json_schema"} else kind


def _text_format(value: Any) -> Any:
    kind = field(field(value, "format"), "type")
    return _format(kind) if isinstance(kind, str) else None


def _name_or_id(value: Any) -> Any:
    return (value if isinstance(value, str) else text(field(value, "id"))) or None


def _effort(value: Any) -> Any:
    return text(field(value, "effort"))


def _set_compacted(attributes: dict[str, Any], value: Any) -> None:
    if is_compacted(value):
        attributes[names.COMPACTED] = True


def _prompt(attributes: dict[str, Any], value: Any) -> None:
    _put(names.PROMPT_NAME, _name_or_id, attributes, value)
    _put(names.PROMPT_VERSION, text, attributes, field(value, "version"))


def is_compacted(value: Any) -> bool:
    """Whether there is a compaction item among the items."""
    return any([field(item, "type") == "compaction" for item in items(value)])  # noqa: C419  # cheaper for a few items


SAMPLING: Final[Rules] = {
    "temperature": (names.TEMPERATURE, GIVEN),
    "top_p": (names.TOP_P, GIVEN),
    "top_k": (names.TOP_K, GIVEN),
    "presence_penalty": (names.PRESENCE_PENALTY, GIVEN),
    "frequency_penalty": (names.FREQUENCY_PENALTY, GIVEN),
    "seed": (names.SEED, GIVEN),
    # The newer name takes precedence, in whatever order they come.
    "max_tokens": (names.MAX_TOKENS, FIRST),
    "max_completion_tokens": (names.MAX_TOKENS, GIVEN),
    "stop": (partial(_put, names.STOP, _stop), CALL),
    "n": (partial(_put, names.CHOICES, _choices), CALL),
    "service_tier": (partial(_put, names.REQUEST_TIER, _tier), CALL),
}
CHAT: Final[Rules] = {
    **SAMPLING,
    "response_format": (partial(_put, names.OUTPUT_TYPE, _format), CALL),
    "reasoning_effort": (partial(_put, names.REASONING, text), CALL),
}
RESPONSES: Final[Rules] = {
    "temperature": (names.TEMPERATURE, NUMBER),
    "top_p": (names.TOP_P, NUMBER),
    "max_output_tokens": (partial(_put, names.MAX_TOKENS, whole), CALL),
    "service_tier": (partial(_put, names.REQUEST_TIER, _text_tier), CALL),
    "text": (partial(_put, names.OUTPUT_TYPE, _text_format), CALL),
    "conversation": (partial(_put, names.CONVERSATION, _name_or_id), CALL),
    "reasoning": (partial(_put, names.REASONING, _effort), CALL),
    "previous_response_id": (partial(_put, names.PREVIOUS_RESPONSE, text), CALL),
    "prompt": (_prompt, CALL),
    "input": (_set_compacted, ITEMS),
}
EMBEDDINGS: Final[Rules] = {"dimensions": (names.DIMENSIONS, GIVEN)}
# For all other requests to a model.
ANY: Final[Rules] = {
    "temperature": (names.TEMPERATURE, NUMBER),
    "n": (partial(_put, names.CHOICES, _choices), CALL),
    "response_format": (partial(_put, names.OUTPUT_TYPE, text), CALL),
    "previous_response_id": (partial(_put, names.PREVIOUS_RESPONSE, text), CALL),
    "service_tier": (partial(_put, names.REQUEST_TIER, _text_tier), CALL),
}
NOTHING: Final[Rules] = {}
