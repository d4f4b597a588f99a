"""A message that is streamed: what telemetry reads of it. Plain Python; compiled as `streamed_messages_c`.

Anthropic's own function, which stock calls for each event, makes models of pydantic and joins texts one by one. A
`Draft` keeps what it would add. Whatever is not usual makes it the message that this function would have made by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anthropic import _streaming
from anthropic import types as _types
from anthropic.types import message_delta_usage, raw_message_delta_event
from jiter import from_json as _from_json
from opentelemetry.instrumentation.genai.anthropic import wrappers as _wrappers
from opentelemetry.util.genai import types as _parts

from otel_fastpath.genai.anthropic.stock_anthropic import CALLED, PUT_TOGETHER
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.wrapping.replacements import Replacements

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = "an event of Anthropic's"
_STREAMS = frozenset({_streaming.Stream, _streaming.AsyncStream})
_COUNTS = (int, type(None))
COUNTED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
DETAILS = "output_tokens_details"
# The field of each kind of a block that its pieces are added to, and that of a piece.
_BLOCKS: dict[Any, str] = {_types.TextBlock: "text", _types.ThinkingBlock: "thinking", _types.ToolUseBlock: "tool_use"}
_PIECES: dict[Any, tuple[str, str]] = {
    _types.TextDelta: ("text", "text_delta"),
    _types.ThinkingDelta: ("thinking", "thinking_delta"),
}
_Json = _types.InputJSONDelta
# The fields of a `Draft`: all others are the message's.
_OWN = frozenset(("blocks", "buffers", "fields", "later", "made", "started"))
# What other code may replace in stock's module is looked up at each event.
_globals = vars(_wrappers)
replacements = Replacements(CALLED)
_replacements = Replacements(PUT_TOGETHER)


class Draft:
    """A message as far as it has come.

    Attributes:
        started: The event that began it.
        fields: What telemetry reads of the message: `id`, `model`, `role`, `stop_reason` and the numbers of tokens.
        buffers: The stream's own buffers of JSON.
        blocks: Of each block its kind, the event that began it, and its pieces.
        later: The other events that change a message.
        made: The message, once something else has asked for it: nothing is added here from then on.
    """

    __slots__ = ("blocks", "buffers", "fields", "later", "made", "started")

    def __init__(self, started: Any, fields: dict[str, Any], buffers: dict[int, bytes]) -> None:
        self.started = started
        self.fields = fields
        self.buffers = buffers
        self.blocks: list[tuple[str, Any, list[Any]]] = []
        self.later: list[Any] = []
        self.made: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        """Whatever else reads it, reads the message."""
        return getattr(self.message(), name)

    def __setattr__(self, name: str, value: object) -> None:
        """Anthropic's function goes on with the message, after this package has been uninstrumented."""
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.message(), name, value)

    def message(self) -> Any:
        """The message that Anthropic's function would have made by now; it fills the buffers, too."""
        if not self.made:
            self.made.append(self._make())
        return self.made[0]

    def _make(self) -> Any:
        add = _globals["accumulate_event"]
        buffers = self.buffers
        made = add(event=self.started, current_snapshot=None, json_bufs=buffers)
        for number, (kind, started, pieces) in enumerate(self.blocks):
            add(event=started, current_snapshot=made, json_bufs=buffers)
            if pieces and kind == "tool_use":
                buffers[number] = pieces[0]
                made.content[-1].input = _from_json(pieces[0], partial_mode=True)
            elif pieces:
                setattr(made.content[-1], kind, getattr(made.content[-1], kind) + "".join(pieces))
        for event in self.later:
            add(event=event, current_snapshot=made, json_bufs=buffers)
        return made

    def parts(self) -> list[Any]:
        """The content, as stock makes it of the message."""
        found: list[Any] = []
        for kind, started, pieces in self.blocks:
            block = started.content_block
            if kind == "text":
                found.append(_parts.TextPart(content=block.text + "".join(pieces)))
            elif kind == "thinking":
                found.append(_parts.ReasoningPart(content=block.thinking + "".join(pieces)))
            else:
                given = _from_json(pieces[0], partial_mode=True) if pieces else block.input
                found.append(_parts.ToolCallRequestPart(arguments=given, name=block.name, id=block.id))
        return found


def bind_process_chunk(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `_MessagesStreamMixin._process_chunk`."""
    switch = Switch()

    def _process_chunk(self: Any, chunk: Any) -> None:
        draft = self._self_message
        try:
            is_usual = type(self._self_stream) in _STREAMS and not _globals["_accumulation_disabled"]
            if is_usual and not switch.inert and not _replacements.exist():
                own = chunk.__dict__
                if type(draft) is Draft:
                    if _take(draft, type(chunk), chunk, own):
                        return
                elif draft is None and type(chunk) is _types.RawMessageStartEvent and not self._self_is_beta:
                    begun = _begin(chunk, own, self._self_json_bufs)
                    if begun is not None:
                        self._self_message = begun
                        return
        except Exception as error:
            faults.absorb(_PLACE, error)
        if type(draft) is Draft:
            try:
                self._self_message = draft.message()
            except Exception as error:
                # Without this event: on what is there, Anthropic's function would fail for every stream.
                faults.absorb(_PLACE, error)
                return
        original(self, chunk)

    return make_switchable(original, _process_chunk, switch)


def _begin(event: Any, own: dict[str, Any], buffers: dict[int, bytes]) -> Draft | None:
    """What the first event says; None if Anthropic's function must read it."""
    message = own.get("message")
    if own.get("type") != "message_start" or type(message) is not _types.Message:
        return None
    given: dict[str, Any] = message.__dict__
    fields = {name: given.get(name) for name in ("id", "model", "role")}
    if given.get("content") != [] or given.get("stop_reason") is not None:
        return None
    for each in fields.values():
        if type(each) is not str:
            return None
    usage = given.get("usage")
    if type(usage) is not _types.Usage or not add_usage(fields, usage.__dict__):
        return None
    fields["stop_reason"] = None
    return Draft(event, fields, buffers)


def add_usage(fields: dict[str, Any], usage: dict[str, Any]) -> bool:
    """Set the numbers of tokens: those that an event does not have stay as they are. False: they are odd."""
    for name in COUNTED:
        if name not in usage or type(usage[name]) not in _COUNTS:
            return False
    for name in (*COUNTED, DETAILS):
        value = usage.get(name)
        if value is not None or name == "output_tokens" or name not in fields:
            fields[name] = value
    return True


def _take(draft: Draft, kind: type, event: Any, own: dict[str, Any]) -> bool:
    """Add an event; False if Anthropic's function must."""
    if draft.made:
        return False
    name = own.get("type")
    if kind is _types.RawMessageStopEvent:
        return name == "message_stop"
    if kind is _types.RawMessageDeltaEvent:
        return name == "message_delta" and _take_end(draft, event, own)
    index = own.get("index")
    if type(index) is not int or index < 0:
        return False
    blocks = draft.blocks
    if kind is _types.RawContentBlockStartEvent:
        block = own.get("content_block")
        field = _BLOCKS.get(type(block))
        if name != "content_block_start" or field is None or index != len(blocks):
            return False
        given: dict[str, Any] = block.__dict__
        if given.get("type") != field or given.get("citations") is not None:
            return False
        # Texts are added to what is there, and a tool's name and id are read at the end.
        for each in ("id", "name") if field == "tool_use" else (field,):
            if type(given.get(each)) is not str:
                return False
        blocks.append((field, event, []))
        return True
    if index >= len(blocks):
        return False
    if kind is _types.RawContentBlockDeltaEvent:
        return name == "content_block_delta" and _take_delta(blocks[index], own.get("delta"))
    return kind is _types.RawContentBlockStopEvent and name == "content_block_stop"


def _take_end(draft: Draft, event: Any, own: dict[str, Any]) -> bool:
    delta, usage = own.get("delta"), own.get("usage")
    if type(delta) is not raw_message_delta_event.Delta or type(usage) is not message_delta_usage.MessageDeltaUsage:
        return False
    given: dict[str, Any] = delta.__dict__
    if type(given.get("stop_reason", 0)) not in (str, type(None)) or "stop_sequence" not in given:
        return False
    if not add_usage(draft.fields, usage.__dict__):
        return False
    draft.fields["stop_reason"] = given["stop_reason"]
    draft.later.append(event)
    return True


def _take_delta(block: tuple[str, Any, list[Any]], delta: Any) -> bool:
    field, _, pieces = block
    kind = type(delta)
    if kind is _Json:
        given: dict[str, Any] = delta.__dict__
        return field == "tool_use" and given.get("type") == "input_json_delta" and _add_json(pieces, given)
    if kind not in _PIECES:
        return False
    given, (name, type_name) = delta.__dict__, _PIECES[kind]
    piece = given.get(name)
    if field != name or given.get("type") != type_name or type(piece) is not str:
        return False
    pieces.append(piece)
    return True


def _add_json(pieces: list[Any], given: dict[str, Any]) -> bool:
    """Add a piece of JSON, unless Anthropic's function would refuse it."""
    try:
        buffer = (pieces[0] if pieces else b"") + given["partial_json"].encode()
        if buffer:
            _from_json(buffer, partial_mode=True)
            pieces[:] = (buffer,)
    except (KeyError, AttributeError, ValueError):
        return False
    return True
