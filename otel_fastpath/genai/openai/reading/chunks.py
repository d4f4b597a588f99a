"""The chunks of a stream -> span attributes, gathered as they come."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai.fields import Loose, field, items, text, whole
from otel_fastpath.genai.openai.reading import messages, parts, response_attributes
from otel_fastpath.genai.openai.requests import is_compacted
from otel_fastpath.genai.rule_kinds import CHAT, CHAT_WITH_TIER, EVENTS, NONE


class ChunkEnd(NamedTuple):
    """How a chunk ends the call: successfully, or with an error."""

    error_type: str | None = None
    message: str | None = None


DONE: Final = ChunkEnd()


class Chunks:
    """What is known of a streamed answer so far.

    Args:
        attributes: The attributes of the span.
        captured: Keeps the content, or None.

    Attributes:
        skips: Which further chunks set no attribute, see `models.is_text`.
        events: The types of the events that do set attributes, if `skips` is `EVENTS`.
    """

    __slots__ = ("attributes", "captured", "events", "skips")

    def __init__(self, attributes: dict[str, Any], captured: Any) -> None:
        self.attributes = attributes
        self.captured = captured
        self.events: frozenset[str] = frozenset()
        self.skips = NONE

    def add(self, chunk: Any) -> ChunkEnd | None:
        """Read one chunk; return a `ChunkEnd` if it ends the call."""
        raise NotImplementedError

    def finish(self) -> None:
        """Set the attributes that are known once the stream has ended or was closed."""


class AnyChunks(Chunks):
    """The chunks of all other streams: completions, images, transcripts."""

    __slots__ = ("_reasons",)

    def __init__(self, attributes: dict[str, Any], captured: Any) -> None:
        super().__init__(attributes, captured)
        self._reasons: list[str] = []

    def add(self, chunk: Any) -> ChunkEnd | None:
        attributes = self.attributes
        for name, key in ((names.RESPONSE_MODEL, "model"), (names.RESPONSE_ID, "id")):
            value = None if name in attributes else text(field(chunk, key))
            if value:
                attributes[name] = value
        for choice in items(field(chunk, "choices")):
            reason = text(field(choice, "finish_reason"))
            if reason:
                self._reasons.append(reason)
        usage = field(chunk, "usage")
        if usage is not None:
            response_attributes.any_usage(usage, attributes)
        return None

    def finish(self) -> None:
        if self._reasons:
            self.attributes[names.FINISH_REASONS] = self._reasons


class _ChoiceContent:
    """The content of one choice of a chat completion so far."""

    __slots__ = ("calls", "content", "refusal")

    def __init__(self) -> None:
        self.content: list[str] = []
        self.refusal: list[str] = []
        self.calls: dict[int, tuple[Any, Any, list[str]]] = {}

    def add(self, delta: Any) -> None:
        # Read before anything is stored: a chunk that lacks one of them is read again, as `Loose`.
        content, refusal, calls = delta.content, delta.refusal, delta.tool_calls
        if isinstance(content, str):
            self.content.append(content)
        if isinstance(refusal, str):
            self.refusal.append(refusal)
        for place, call in enumerate(items(calls)):
            function = field(call, "function")
            index = field(call, "index")
            if not isinstance(index, int):
                index = place
            if index not in self.calls:
                self.calls[index] = field(call, "id"), field(function, "name"), []
            arguments = field(function, "arguments")
            if isinstance(arguments, str):
                self.calls[index][2].append(arguments)


class ChatChunks(Chunks):
    """The chunks of a chat completion."""

    __slots__ = ("_has_identity", "_reasons", "_said", "_tier", "_usage")

    def __init__(self, attributes: dict[str, Any], captured: Any) -> None:
        super().__init__(attributes, captured)
        self._has_identity = False
        self._tier: Any = None
        self._usage: Any = None
        self._reasons: dict[int, str] = {}
        self._said: dict[int, _ChoiceContent] = {}

    def add(self, chunk: Any) -> ChunkEnd | None:
        try:
            if not self._has_identity:
                self._identify(chunk)
            for choice in chunk.choices or ():
                if choice.finish_reason:
                    self._reasons[choice.index] = choice.finish_reason
                if self.captured is not None:
                    self._capture(choice)
            if chunk.usage is not None:
                self._usage = chunk.usage
            if self._tier is None:
                self._tier = chunk.service_tier
            if self._has_identity and self.captured is None:
                self.skips = CHAT if self._tier is None else CHAT_WITH_TIER
        except (AttributeError, TypeError):
            self._add_odd(chunk)
        return None

    def _identify(self, chunk: Any) -> None:
        attributes = self.attributes
        for name, value in ((names.RESPONSE_MODEL, chunk.model), (names.RESPONSE_ID, chunk.id)):
            if value and isinstance(value, str) and name not in attributes:
                attributes[name] = value
        self._has_identity = names.RESPONSE_MODEL in attributes and names.RESPONSE_ID in attributes

    def _add_odd(self, chunk: Any) -> None:
        """Read what is possible of a chunk that is not one of the client's models, or lacks a required field."""
        for place, choice in enumerate(items(field(chunk, "choices"))):
            index = field(choice, "index")
            index = index if isinstance(index, int) else place
            reason = text(field(choice, "finish_reason"))
            if reason:
                self._reasons[index] = reason
            if self.captured is not None and field(choice, "delta"):
                self._said.setdefault(index, _ChoiceContent()).add(Loose(field(choice, "delta")))
        usage = field(chunk, "usage")
        if usage is not None:
            self._usage = usage

    def _capture(self, choice: Any) -> None:
        if choice.delta:
            said = self._said.get(choice.index)
            if said is None:
                said = self._said[choice.index] = _ChoiceContent()
            said.add(choice.delta)

    def finish(self) -> None:
        attributes = self.attributes
        if self._usage is not None:
            response_attributes.put(self._usage, response_attributes.CHAT_USAGE, attributes)
            self._usage = None
        if self._reasons:
            found = [self._reasons[index] for index in _in_order(self._reasons)]
            attributes[names.FINISH_REASONS] = [text(reason) or "error" for reason in found]
        if self._tier:
            attributes[names.RESPONSE_TIER] = self._tier
        if self._said:
            kept = [(self._said[index], self._reasons.get(index)) for index in _in_order(self._said)]
            self.captured.add_output(_chat_messages, kept)


def _in_order(found: dict[int, Any]) -> list[int]:
    """The indexes of the choices; values from malformed chunks that are not numbers come last."""
    return sorted(found, key=lambda index: index if isinstance(index, int) else len(found))


def _chat_messages(kept: list[tuple[_ChoiceContent, Any]]) -> list[dict[str, Any]]:
    return [_chat_message(said, reason) for said, reason in kept]


def _chat_message(said: _ChoiceContent, reason: Any) -> dict[str, Any]:
    # An empty text is a part of the message; an empty refusal is none.
    found = [parts.text_part("".join(said.content))] if said.content else []
    refusal = "".join(said.refusal)
    if refusal:
        found.append(parts.text_part(refusal))
    for own, name, arguments in said.calls.values():
        found.append(parts.call_part(parts.parse_arguments("".join(arguments)), name, own))
    return messages.output("assistant", found, messages.chat_reason(reason))


# Events of the Responses API that describe the call itself.
_ON_THE_WAY: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
_AT_THE_END: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_ITEMS: Final = frozenset({"response.output_item.added", "response.output_item.done"})
_DELTAS: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
_TOLD: Final = _ON_THE_WAY | _AT_THE_END | _ITEMS | {"error"}


class ResponseChunks(Chunks):
    """The chunks of a response."""

    __slots__ = ("_has_model", "_is_whole", "_texts")

    def __init__(self, attributes: dict[str, Any], captured: Any) -> None:
        super().__init__(attributes, captured)
        self._has_model = False
        self._is_whole = False
        self._texts: dict[Any, list[str]] = {}
        self.skips = EVENTS
        self.events = _TOLD if captured is None else _TOLD | _DELTAS

    def add(self, chunk: Any) -> ChunkEnd | None:
        kind = field(chunk, "type")
        if not isinstance(kind, str) or kind not in self.events:
            return None
        if kind in _DELTAS:
            place = whole(field(chunk, "output_index")), whole(field(chunk, "content_index"))
            self._texts.setdefault(place, []).append(text(field(chunk, "delta")) or "")
            return None
        if kind in _ITEMS:
            self.item(field(chunk, "item"))
            return None
        if kind == "error":
            return ChunkEnd(text(field(chunk, "code")) or "error", text(field(chunk, "message")) or None)
        answer = field(chunk, "response")
        if kind in _ON_THE_WAY:
            self._begin(answer)
            return None
        return self.end(kind, answer)

    def _begin(self, answer: Any) -> None:
        for name, key in ((names.RESPONSE_MODEL, "model"), (names.RESPONSE_ID, "id")):
            value = text(field(answer, key))
            if value:
                self.attributes.setdefault(name, value)

    def item(self, item: Any) -> None:
        """Read an item of the output; a stream that is closed early does not repeat it at its end."""
        if is_compacted([item]):
            self.attributes[names.COMPACTED] = True

    def end(self, kind: str, answer: Any) -> ChunkEnd:
        """Read the response in its final state."""
        self.read(answer)
        if kind != "response.failed":
            return DONE
        error = field(answer, "error")
        if error is None:
            return ChunkEnd("response.failed")
        return ChunkEnd(text(field(error, "code")) or "response.failed", text(field(error, "message")))

    def read(self, answer: Any) -> None:
        """Set the attributes of the final response."""
        response_attributes.put(answer, response_attributes.RESPONSE, self.attributes)
        response_attributes.response(answer, self.attributes)
        self._keep(answer)

    def _keep(self, answer: Any) -> None:
        self._is_whole = True
        if self.captured is not None:
            self.captured.answer(answer)

    def finish(self) -> None:
        if self._texts and not self._is_whole:
            self.captured.add_output(_partial_message, ["".join(words) for words in self._texts.values()])


def _partial_message(texts: list[str]) -> list[dict[str, Any]]:
    return [messages.output("assistant", [parts.text_part(words) for words in texts], "error")]


class FetchedChunks(ResponseChunks):
    """The chunks of a response that was generated earlier, whose failure is not a failure of this call."""

    __slots__ = ()

    def _begin(self, answer: Any) -> None:
        model = text(field(answer, "model"))
        if model:
            self.attributes.setdefault(names.RESPONSE_MODEL, model)

    def item(self, item: Any) -> None:
        pass

    def end(self, kind: str, answer: Any) -> ChunkEnd:  # noqa: ARG002  # the interface's
        self.read(answer)
        return DONE

    def read(self, answer: Any) -> None:
        response_attributes.set_fetched(answer, self.attributes)
        self._keep(answer)
