"""A request in ASGI's form: its response is sent in messages, and its span ends with the last one.

Plain Python; compiled as `asgi_messages_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.http.server import ServerRequest
from otel_fastpath.http.servers.malformed import is_malformed_scope
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_PLACE = "a message of a request"


class MessageRequest(ServerRequest):
    """A request whose messages are seen.

    Attributes:
        final: The types of the messages that may be the last one; each has the key that says whether more follow.
        scope: The request.
    """

    __slots__ = ("_receive", "_send", "final", "scope")

    _receive: Callable[[], Awaitable[Any]]
    _send: Callable[[Any], Awaitable[None]]
    final: dict[str, str]
    scope: dict[str, Any]

    def is_malformed(self) -> bool:
        """See `ServerRequest`."""
        return is_malformed_scope(self.scope)

    def send(self, message: Any) -> Awaitable[None]:
        """Send a message; with the last one, the request's span ends."""
        # A stream has many messages, and most need no coroutine of their own.
        return self._send_last(message) if self._handle_message(message) else self._send(message)

    async def _send_last(self, message: Any) -> None:
        await self._send(message)
        self.complete()

    def _handle_message(self, message: Any) -> bool:
        """Emit what is known before a message is sent; return whether it is the last one."""
        try:
            kind = message["type"]
        except Exception as error:
            faults.raise_interruption(error)
            # A mistake of the application's, which the server reports.
            return False
        try:
            self.before_sending(message, kind)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        try:
            # A request whose last message is missed has its exception twice: there is no call that may fail.
            more = self.final[kind] if type(kind) is str and kind in self.final else None
            return more is not None and not (more in message and message[more])  # noqa: RUF019
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            return False

    def before_sending(self, message: Any, kind: Any) -> None:
        """Emit what a message of this type says of the response: the library's own code."""
        raise NotImplementedError

    def complete(self) -> None:
        """The last message was sent."""
        self.activation.end()
