"""The content of a websocket session, if its capture is enabled: texts and transcripts, no audio."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from otel_fastpath.genai.openai import content
from otel_fastpath.genai.openai.fields import field, items, kind_of, text
from otel_fastpath.genai.openai.reading import messages

# A session may last for hours.
MOST_ITEMS: Final = 256
_ADDED: Final = frozenset({"conversation.item.added", "conversation.item.created"})
_HEARD: Final = "conversation.item.input_audio_transcription.completed"
_CONFIGURED: Final = frozenset({"session.created", "session.started", "session.updated"})
_ENDS: Final = frozenset({"response.done", "response.completed", "response.failed", "response.incomplete"})
KINDS: Final = _ADDED | _CONFIGURED | _ENDS | {_HEARD}
# Items of the assistant: they are read from the response.
_ANSWERED: Final = frozenset({"function_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"})


def _outputs(value: Any) -> content.Made:
    return messages.response_outputs([_written(item) for item in value])


def _written(item: Any) -> Any:
    """A message with transcripts as text."""
    pieces = items(field(item, "content"))
    if not any(field(piece, "transcript") for piece in pieces):
        return item
    return {
        "type": field(item, "type"),
        "role": field(item, "role"),
        "status": field(item, "status"),
        "content": [
            {"type": "output_text", "text": words} if (words := text(field(piece, "transcript"))) else piece
            for piece in pieces
        ],
    }


class SessionMessages:
    """The latest input and output messages of a session, and its instructions."""

    __slots__ = ("_asked", "_body", "_said")

    def __init__(self) -> None:
        self._body: dict[str, Any] = {}
        self._asked: deque[Any] = deque(maxlen=MOST_ITEMS)
        self._said: deque[Any] = deque(maxlen=MOST_ITEMS)

    def hear(self, kind: Any, event: Any) -> None:
        """Keep the content of an event from the server."""
        if kind in _ENDS:
            self._said.extend(items(field(field(event, "response"), "output")))
        elif kind in _ADDED:
            item = field(event, "item")
            if field(item, "role") != "assistant" and kind_of(item) not in _ANSWERED:
                self._asked.append(item)
        elif kind == _HEARD:
            words = text(field(event, "transcript"))
            if words:
                self._asked.append({"role": "user", "content": words})
        elif kind in _CONFIGURED:
            self._configure(field(event, "session"))

    def ask(self, event: Any) -> None:
        """Keep the content of a request over a connection of the Responses API, which the server does not repeat."""
        if field(event, "type") != "response.create" or field(event, "response") is not None:
            return
        asked = field(event, "input")
        self._asked.extend([{"role": "user", "content": asked}] if isinstance(asked, str) else items(asked))
        self._configure(event)

    def _configure(self, session: Any) -> None:
        for key in ("instructions", "tools"):
            value = field(session, key)
            if value:
                self._body[key] = value

    def captured(self) -> content.Captured:
        """All content, in the same form as that of other calls."""
        made = content.Captured(content.RESPONSES, {**self._body, "input": list(self._asked)})
        made.add_output(_outputs, list(self._said))
        return made
