"""The content of a call: kept by reference, copied when the call ends, and formatted when it is exported.

Texts are cut to a length; inline data (images, audio, documents) is replaced by a digest and its size. A completion
hook gets everything uncut, in the classes of `opentelemetry.util.genai.types`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai.fields import field, items
from otel_fastpath.genai.openai.reading import messages
from otel_fastpath.lazy import lazy
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

Made = list[dict[str, Any]]
# A message that is a text makes a message.
_ASKED: Final = frozenset({messages.chat_inputs, messages.response_inputs})


@dataclass(frozen=True, eq=False)
class ContentShape:
    """Where the content of one kind of call is, and how it is read.

    Attributes:
        request: Attribute -> the key of the request body and the function that makes its messages.
        keep: Returns the part of an answer that is kept.
        outputs: Makes messages from the kept part.
        answer: The same as `request`, for parts of the request that the answer repeats.
    """

    request: dict[str, tuple[str, Callable[[Any], Made]]]
    keep: Callable[[Any], Any]
    outputs: Callable[[Any], Made]
    answer: dict[str, tuple[str, Callable[[Any], Made]]]


class Captured:
    """The content of one call; the body of the request is the client's own copy of what the caller passed."""

    __slots__ = ("_kept", "_outputs", "_parts", "shape")

    def __init__(self, shape: ContentShape, body: Any) -> None:
        self.shape = shape
        self._parts: dict[str, tuple[Callable[[Any], Made], Any]] = {}
        for name, (key, make) in shape.request.items():
            if body.get(key):
                self._parts[name] = make, body[key]

    def answer(self, result: Any) -> None:
        """Keep the content of an answer."""
        self.add_output(self.shape.outputs, self.shape.keep(result))
        for name, (key, make) in self.shape.answer.items():
            if value := field(result, key):
                self._parts[name] = make, value

    def add_output(self, make: Callable[[Any], Made], kept: Any) -> None:
        """Keep content, and the function that makes messages from it."""
        if kept:
            self._parts[names.OUTPUT_MESSAGES] = make, kept

    def made(self, name: str) -> Made:
        """The messages of one of the attributes."""
        make, kept = self._parts.get(name, (None, None))
        return [] if make is None else make(kept)

    def on_span(self, attributes: dict[str, Any], longest: int) -> None:
        """Set the attributes of a span, which are formatted when it is exported."""
        reading = hot.genai_openai_reading_models
        for name, (make, kept) in self._parts.items():
            if (make in _ASKED and reading.begins_with_text(kept)) or _has_any(make, kept):
                # The host may change what it has passed and what it got.
                attributes[name] = lazy(_as_json, make, reading.copied(kept), longest)

    def on_event(self, attributes: dict[str, Any], longest: int) -> None:
        """Set the attributes of an event."""
        for name, (make, kept) in self._parts.items():
            value = make(kept)
            if value:
                attributes[name] = _reduced(value, longest)


def _has_any(make: Callable[[Any], Made], kept: Any) -> bool:
    """Whether anything is made of what is kept. To make all of it would take as long as to format it."""
    if make is messages.chat_outputs:
        return True
    try:
        return bool(make(kept)) if isinstance(kept, str) else any(make([item]) for item in items(kept))
    except Exception as error:
        faults.raise_interruption(error)
        # Raised again in the export thread, and logged there.
        return True


def _as_json(make: Callable[[Any], Made], kept: Any, longest: int) -> str:
    return json.dumps(_reduced(make(kept), longest), separators=(",", ":"), default=str)


def _reduced(value: Any, longest: int) -> Any:
    """The value with long texts cut and bytes replaced by their digest."""
    kind = type(value)
    if kind is str:
        return value if len(value) <= longest else f"{value[:longest]}... ({len(value)} characters)"
    if kind is dict:
        return {key: _reduced(each, longest) for key, each in value.items()}
    if kind is list or kind is tuple:
        return [_reduced(each, longest) for each in value]
    if kind is bytes:
        return f"sha256:{hashlib.sha256(value).hexdigest()} ({len(value)} bytes)"
    return value


def _keep_choices(result: Any) -> list[tuple[Any, ...]]:
    kept = []
    for choice in items(field(result, "choices")):
        message = field(choice, "message")
        if message:
            kept.append(
                (
                    field(message, "role"),
                    field(message, "content"),
                    field(message, "refusal"),
                    field(message, "tool_calls"),
                    field(choice, "finish_reason"),
                )
            )
    return kept


def _keep_output(result: Any) -> tuple[Any, ...]:
    return tuple(items(field(result, "output")))


CHAT: Final = ContentShape(
    {
        names.INPUT_MESSAGES: ("messages", messages.chat_inputs),
        names.TOOLS: ("tools", messages.chat_tools),
    },
    _keep_choices,
    messages.chat_outputs,
    {},
)
RESPONSES: Final = ContentShape(
    {
        names.INPUT_MESSAGES: ("input", messages.response_inputs),
        names.INSTRUCTIONS: ("instructions", messages.instructions),
        names.TOOLS: ("tools", messages.response_tools),
    },
    _keep_output,
    messages.response_outputs,
    {},
)
FETCHED: Final = ContentShape(
    {},
    _keep_output,
    messages.response_outputs,
    {
        names.INSTRUCTIONS: ("instructions", messages.instructions),
        names.TOOLS: ("tools", messages.response_tools),
    },
)
