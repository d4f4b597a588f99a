"""Request body -> span attributes: for each endpoint a table of body keys.

An entry is the name of the attribute, which takes the value as it is, or a function that puts what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai._fields import field, items, number, text, whole

Put = Callable[[dict[str, Any], Any], None]
Rules = Mapping[str, "str | Put"]


def read(body: Any, rules: Rules, attributes: dict[str, Any]) -> None:
    """Put the attributes that follow from a request body."""
    for key, value in body.items():
        rule = rules.get(key)
        if rule is None or value is None:
            continue
        if type(rule) is str:
            attributes[rule] = value
        else:
            rule(attributes, value)  # type: ignore[operator]  # what is no name is a function


def _put(name: str, check: Callable[[Any], Any], attributes: dict[str, Any], value: Any) -> None:
    checked = check(value)
    if checked is not None:
        attributes[name] = checked


def _max_tokens(attributes: dict[str, Any], value: Any) -> None:
    """The older name gives way to `max_completion_tokens`, in whatever order they come."""
    attributes.setdefault(names.MAX_TOKENS, value)


def _stop(value: Any) -> Any:
    return [value] if isinstance(value, str) else list(value)


def _choices(value: Any) -> Any:
    return value if isinstance(value, int) and value != 1 else None


def _tier(value: Any) -> Any:
    return value if value != "auto" else None


def _text_tier(value: Any) -> Any:
    return value if isinstance(value, str) and value != "auto" else None


def _format(value: Any) -> Any:
    """The output type that `response_format` asks for: a word, or an object with a `type`."""
    kind = value.get("type") if isinstance(value, Mapping) else text(value)
    return "json" if kind in {"json_object", "json_schema"} else kind


def _text_format(value: Any) -> Any:
    kind = field(field(value, "format"), "type")
    return _format(kind) if isinstance(kind, str) else None


def _name_or_id(value: Any) -> Any:
    return (value if isinstance(value, str) else text(field(value, "id"))) or None


def _effort(value: Any) -> Any:
    return text(field(value, "effort"))


def _compacted(value: Any) -> Any:
    return True if is_compacted(value) else None


def _prompt(attributes: dict[str, Any], value: Any) -> None:
    _put(names.PROMPT_NAME, _name_or_id, attributes, value)
    _put(names.PROMPT_VERSION, text, attributes, field(value, "version"))


def is_compacted(value: Any) -> bool:
    """Whether there is a compaction item among the items."""
    return any([field(item, "type") == "compaction" for item in items(value)])  # noqa: C419  # cheaper for a few items


SAMPLING: Final[Rules] = {
    "temperature": names.TEMPERATURE,
    "top_p": names.TOP_P,
    "top_k": names.TOP_K,
    "presence_penalty": names.PRESENCE_PENALTY,
    "frequency_penalty": names.FREQUENCY_PENALTY,
    "seed": names.SEED,
    "max_tokens": _max_tokens,
    "max_completion_tokens": names.MAX_TOKENS,
    "stop": partial(_put, names.STOP, _stop),
    "n": partial(_put, names.CHOICES, _choices),
    "service_tier": partial(_put, names.REQUEST_TIER, _tier),
}
CHAT: Final[Rules] = {
    **SAMPLING,
    "response_format": partial(_put, names.OUTPUT_TYPE, _format),
    "reasoning_effort": partial(_put, names.REASONING, text),
}
RESPONSES: Final[Rules] = {
    "temperature": partial(_put, names.TEMPERATURE, number),
    "top_p": partial(_put, names.TOP_P, number),
    "max_output_tokens": partial(_put, names.MAX_TOKENS, whole),
    "service_tier": partial(_put, names.REQUEST_TIER, _text_tier),
    "text": partial(_put, names.OUTPUT_TYPE, _text_format),
    "conversation": partial(_put, names.CONVERSATION, _name_or_id),
    "reasoning": partial(_put, names.REASONING, _effort),
    "previous_response_id": partial(_put, names.PREVIOUS_RESPONSE, text),
    "prompt": _prompt,
    "input": partial(_put, names.COMPACTED, _compacted),
}
EMBEDDINGS: Final[Rules] = {"dimensions": names.DIMENSIONS}
# For whatever is asked of a model besides.
ANY: Final[Rules] = {
    "temperature": partial(_put, names.TEMPERATURE, number),
    "n": partial(_put, names.CHOICES, _choices),
    "response_format": partial(_put, names.OUTPUT_TYPE, text),
    "previous_response_id": partial(_put, names.PREVIOUS_RESPONSE, text),
    "service_tier": partial(_put, names.REQUEST_TIER, _text_tier),
}
NOTHING: Final[Rules] = {}
