"""The few events of a websocket session that describe it -> span attributes.

Of all other events, which are pieces of audio and text, only the type is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai.fields import Loose, field, kind_of, text, whole
from otel_fastpath.genai.openai.reading.response_attributes import finish_reasons, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

# `error.type` and a message; both None if nothing failed.
Failure = tuple[str | None, str | None]

# Of each side's tokens: what its details are called -> the attribute.
_INPUT: Final = {
    "cached_tokens": names.CACHE_READ,
    "cache_write_tokens": names.CACHE_WRITE,
    "audio_tokens": names.AUDIO_INPUT,
    "text_tokens": names.TEXT_INPUT,
    "image_tokens": names.IMAGE_INPUT,
}
_OUTPUT: Final = {
    "reasoning_tokens": names.REASONING_TOKENS,
    "audio_tokens": names.AUDIO_OUTPUT,
    "text_tokens": names.TEXT_OUTPUT,
    "image_tokens": names.IMAGE_OUTPUT,
}


class Told:
    """What is known of a session from its events so far.

    Attributes:
        error: The last error of the server, unless it has answered since.
        model: The model that answers.
        conversation: The id of the conversation or session.
        responses: The number of responses.
        response_id: The id of the only response.
        reasons: Why responses ended: each reason once, in order.
        tokens: Attribute -> the sum over all responses.
    """

    __slots__ = ("conversation", "error", "model", "reasons", "response_id", "responses", "tokens")

    def __init__(self) -> None:
        self.error: Failure | None = None
        self.model: str | None = None
        self.conversation: str | None = None
        self.responses = 0
        self.response_id: str | None = None
        self.reasons: dict[str, None] = {}
        self.tokens: dict[str, int] = {}

    def attributes(self) -> dict[str, Any]:
        """The attributes that the span gets at its end."""
        made = {
            names.RESPONSE_MODEL: self.model,
            names.CONVERSATION: self.conversation,
            names.RESPONSE_ID: self.response_id,
            names.FINISH_REASONS: list(self.reasons) or None,
        }
        return {name: value for name, value in made.items() if value is not None} | self.tokens

    def add_usage(self, usage: Any) -> None:
        """Add the tokens of one response."""
        for side, total, parts in (
            ("input", names.INPUT_TOKENS, _INPUT),
            ("output", names.OUTPUT_TOKENS, _OUTPUT),
        ):
            count = whole(field(usage, f"{side}_tokens"))
            if count is not None:
                self.tokens[total] = self.tokens.get(total, 0) + count
            # The Realtime and Responses APIs use different names.
            details = field(usage, f"{side}_token_details") or field(usage, f"{side}_tokens_details")
            if details is None:
                continue
            for key, name in parts.items():
                if count := whole(field(details, key)):
                    self.tokens[name] = self.tokens.get(name, 0) + count


def _read_session(told: Told, event: Any) -> None:
    """The session as the server has it."""
    session = field(event, "session")
    told.model = text(field(session, "model")) or told.model
    told.conversation = text(field(session, "id")) or told.conversation


def _read_response(told: Told, event: Any) -> None:
    """A response has come to its end."""
    response = field(event, "response")
    if response is None:
        return
    told.error = None
    told.responses += 1
    told.response_id = text(field(response, "id")) if told.responses == 1 else None
    told.model = text(field(response, "model")) or told.model
    told.conversation = text(field(field(response, "conversation"), "id")) or told.conversation
    details = field(response, "status_details")
    if details is not None and field(response, "status") == "incomplete":
        found = [reason_of("incomplete", text(field(details, "reason")))]
    else:
        found = list(finish_reasons(Loose(response)))
    told.reasons.update((reason, None) for reason in found if reason)
    usage = field(response, "usage")
    if usage is not None:
        told.add_usage(usage)


def _read_inner_response(told: Told, event: Any) -> None:
    """An event of a response that a live session has asked for."""
    inner = field(event, "event")
    if kind_of(inner) in _ENDS:
        _read_response(told, inner)


def _read_error(told: Told, event: Any) -> None:
    """An error occurred; usually the session goes on."""
    error = field(event, "error")
    kind = text(field(error, "code")) or text(field(error, "type")) or names.OTHER_ERROR
    told.error = kind, text(field(error, "message"))


_ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})
READERS: Final[dict[Any, Callable[[Told, Any], None]]] = {
    "session.created": _read_session,
    "session.started": _read_session,
    "session.updated": _read_session,
    "session.closed": _read_session,
    "response.done": _read_response,
    "response.event": _read_inner_response,
    "transport.failed": _read_error,
    "error": _read_error,
    **dict.fromkeys(_ENDS, _read_response),
}
KINDS: Final = frozenset(READERS)
