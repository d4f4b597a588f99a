"""The content of messages as attributes: JSON on a span, lists of dicts in an event. Compiled as `contents_c`.

Stock makes dicts of the messages by `dataclasses.asdict`, which copies what it does not know by `copy.deepcopy`. Here
messages and parts of stock's own classes are read directly, and so are values of the types of JSON. Anything else is
left to stock's function.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.util.genai import types as _types
from opentelemetry.util.genai.utils import _GenAiJsonEncoder

from otel_fastpath.others.genai_calls.stock_genai import OddValueError

if TYPE_CHECKING:
    from typing import Any

# The values that no copy is made of.
_AS_IS = frozenset({str, int, float, bool, type(None), bytes, _types.Modality, _types.Role})
# Deeper values are left to stock, and so are those that contain themselves.
_DEEPEST = 32
_CLASSES = (
    _types.BlobPart,
    _types.CompactionPart,
    _types.FilePart,
    _types.FunctionToolDefinition,
    _types.GenericPart,
    _types.GenericToolDefinition,
    _types.InputMessage,
    _types.OutputMessage,
    _types.ReasoningPart,
    _types.ServerToolCallPart,
    _types.ServerToolCallResponsePart,
    _types.TextPart,
    _types.ToolCallRequestPart,
    _types.ToolCallResponsePart,
    _types.UriPart,
)
# The names of their fields, in order.
_FIELDS: dict[type, tuple[str, ...]] = {kind: tuple([field.name for field in fields(kind)]) for kind in _CLASSES}
_MISSING = object()
# It keeps nothing of what it has encoded. Nothing contains itself: see `_DEEPEST`.
_encode = _GenAiJsonEncoder(separators=(",", ":"), check_circular=False).encode
_CONTENT = (
    (_names.GEN_AI_INPUT_MESSAGES, "input_messages"),
    (_names.GEN_AI_OUTPUT_MESSAGES, "output_messages"),
    (_names.GEN_AI_SYSTEM_INSTRUCTIONS, "system_instructions"),
    (_names.GEN_AI_TOOL_DEFINITIONS, "tool_definitions"),
)


def contents(data: dict[str, Any]) -> dict[str, list[object]]:
    """The content of a call's record, as stock makes it for an event.

    Raises:
        OddValueError: Stock must make it.
    """
    made: dict[str, list[object]] = {}
    for name, field in _CONTENT:
        items = data.get(field)
        if items:
            made[name] = _listed(items)
    return made


def add_encoded(attributes: dict[str, object], made: dict[str, list[object]]) -> None:
    """Set the attributes of a span to content as JSON."""
    for name, items in made.items():
        attributes[name] = _encode(items)


def _listed(items: object) -> list[object]:
    if type(items) is not list and type(items) is not tuple:
        raise OddValueError
    made: list[object] = []
    for each in items:
        names = _FIELDS.get(type(each))
        if names is None:
            raise OddValueError
        made.append(_fields_of(each, names, 0))
    return made


def _fields_of(value: object, names: tuple[str, ...], depth: int) -> dict[str, object]:
    own = value.__dict__
    made: dict[str, object] = {}
    for name in names:
        each = own.get(name, _MISSING)
        if each is _MISSING:
            raise OddValueError
        made[name] = each if type(each) in _AS_IS else _copied(each, depth + 1)
    return made


def _copied(value: object, depth: int) -> object:
    kind = type(value)
    if depth > _DEEPEST:
        raise OddValueError
    if kind is list:
        items: list[object] = value  # type: ignore[assignment]  # of the type that the compiled core knows
        return [each if type(each) in _AS_IS else _copied(each, depth + 1) for each in items]
    if kind is dict:
        mapping: dict[object, object] = value  # type: ignore[assignment]  # likewise
        made: dict[object, object] = {}
        for key, each in mapping.items():
            if type(key) is not str:
                raise OddValueError
            made[key] = each if type(each) in _AS_IS else _copied(each, depth + 1)
        return made
    names = _FIELDS.get(kind)
    if names is None:
        raise OddValueError
    return _fields_of(value, names, depth)
