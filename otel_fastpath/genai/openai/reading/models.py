"""Reading what the client of a model hands out, by tables. Plain Python; compiled as `reading_models_c`.

A pydantic model is read in its `__dict__`, never by attribute access, which is slow: an existing field may go through
its `__getattr__`, and for a missing one pydantic creates an exception first.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from otel_fastpath.genai.rule_kinds import (
    CALL,
    CHAT,
    EVENTS,
    FIRST,
    GIVEN,
    INTO,
    ITEMS,
    NONE,
    NUMBER,
    OTHERWISE,
    REASONS,
    TEXT,
    TRUE,
)
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from typing import TypeGuard


# A larger number is not a token count, and may not fit in 64 bits on the way to a backend.
_MOST_TOKENS = 1 << 53
_TEXT = frozenset({"role", "content"})
# Data of a request or an answer is never nested as deeply.
_DEEPEST = 200


def field(holder: object, name: str) -> Any:
    """The field of a model, also one that its class does not declare, or the entry of a dict; None if missing."""
    if type(holder) is dict:
        return holder.get(name)
    own = getattr(holder, "__dict__", None)
    if own is not None and name in own:
        return own[name]
    return _undeclared(holder, name)


def _undeclared(holder: object, name: str) -> object:
    """A field that is not in the `__dict__` of a model, but may be among its undeclared fields."""
    own = getattr(holder, "__dict__", None)
    if own is None:
        return getattr(holder, name, None)
    if name in own:
        return own[name]
    extra = getattr(holder, "__pydantic_extra__", own)
    if extra is own:
        return getattr(holder, name, None)
    return extra.get(name) if extra else None


def read(holder: object, rules: tuple[tuple[str, Any, int], ...], attributes: dict[str, object]) -> None:
    """Set the attributes that follow from a model or from decoded JSON.

    Args:
        holder: The model, or a dict.
        rules: For each field its name, the attribute's name, and when to set it; or, with `INTO`, a table of rules for
            the model in the field; or, with `CALL`, a function of the attributes and the value.
        attributes: The attributes to set.
    """
    before = value = None
    if type(holder) is dict:
        own: Any = holder
    else:
        own = getattr(holder, "__dict__", None)
        if own is None:
            own = {}
    for name, attribute, kind in rules:
        before = value
        value = own.get(name)
        if value is None:
            if own is not holder and name not in own:
                value = _undeclared(holder, name)
            if value is None:
                continue
        if kind == GIVEN:
            attributes[attribute] = value
        elif kind == TRUE:
            if value:
                attributes[attribute] = value
        else:
            _put(attribute, kind, before, value, attributes)


def read_body(body: dict[str, object], rules: dict[str, tuple[Any, int]], attributes: dict[str, object]) -> None:
    """Set the attributes that follow from a request's body, by rules as in `read` without the field's name."""
    for key, value in body.items():
        if value is not None:
            rule = rules.get(key)
            if rule is None:
                continue
            if rule[1] == GIVEN:
                attributes[rule[0]] = value
            elif rule[1] == ITEMS:
                # Iterating over any other type might consume it.
                if type(value) is not str and isinstance(value, (list, tuple)):
                    rule[0](attributes, value)
            else:
                _put(rule[0], rule[1], None, value, attributes)


def _put(name: Any, kind: int, before: object, value: object, attributes: dict[str, object]) -> None:
    """Set an existing value if its kind of rule, which is neither `GIVEN` nor `TRUE`, says so.

    `before` is the value that the previous rule found.
    """
    if kind == TEXT:
        if value and isinstance(value, str):
            attributes[name] = value
    elif kind == INTO:
        if value:
            read(value, name, attributes)
    elif kind == REASONS:
        if value and isinstance(value, (list, tuple)):
            reasons = []
            for choice in value:
                reason = field(choice, "finish_reason")
                reasons.append(reason if reason and isinstance(reason, str) else "error")
            attributes[name] = reasons
    elif kind == FIRST:
        attributes.setdefault(name, value)
    elif kind == CALL:
        name(attributes, value)
    elif kind == NUMBER:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            attributes[name] = float(value)
    elif value and (before is None if kind == OTHERWISE else isinstance(value, int) and not isinstance(value, bool)):
        attributes[name] = value


def is_count(value: object) -> TypeGuard[float]:
    """Whether a value from the server is a number of tokens."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS


def is_text(chunk: object, kind: int, events: frozenset[str]) -> bool:
    """Whether a chunk of a stream sets no attribute, as most do not; if False, it must be read.

    Args:
        chunk: The chunk.
        kind: `CHAT`, for a chat completion whose service tier is not known yet, or `CHAT_WITH_TIER`; `EVENTS`.
        events: The types of the events that must be read.
    """
    if kind == NONE:
        return False
    own = getattr(chunk, "__dict__", None)
    if own is None:
        return False
    if kind == EVENTS:
        name = own.get("type")
        return type(name) is str and name not in events
    choices = own.get("choices")
    if type(choices) is not list or own.get("usage") is not None:
        return False
    if kind == CHAT and own.get("service_tier") is not None:
        return False
    for choice in choices:
        mine = getattr(choice, "__dict__", None)
        if mine is None or mine.get("finish_reason"):
            return False
    return True


def begins_with_text(messages: object) -> bool:
    """Whether the first message is one text, as that of almost every conversation is."""
    if not isinstance(messages, list) or not messages:
        return False
    first = messages[0]
    if type(first) is not dict or first.keys() != _TEXT:
        return False
    return type(first["role"]) is str and type(first["content"]) is str


def copied(value: Any) -> Any:
    """A copy of lists, dicts and models, which shares with them what cannot change, and objects of other kinds.

    It is the value itself if that is nested too deeply, contains itself, or has a model that cannot be copied.
    """
    try:
        return _copied(value, _DEEPEST)
    except Exception as error:
        faults.raise_interruption(error)
        return value


def _copied(value: Any, room: int) -> Any:
    kind = type(value)
    if kind is str or value is None:
        return value
    if room == 0:
        raise RecursionError("nested too deeply to be copied")
    if kind is list:
        return [_copied(each, room - 1) for each in value]
    if kind is dict:
        return {key: _copied(each, room - 1) for key, each in value.items()}
    if kind is tuple:
        return tuple([_copied(each, room - 1) for each in value])
    return _copied_model(value, room - 1) if hasattr(kind, "model_dump") else value


def _copied_model(model: Any, room: int) -> Any:
    made = copy(model)
    for own in (made.__dict__, getattr(made, "__pydantic_extra__", None)):
        if own:
            for key in own:
                own[key] = _copied(own[key], room)
    return made
