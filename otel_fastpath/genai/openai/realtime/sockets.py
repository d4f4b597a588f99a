"""Replacements for the client's methods for websockets: those that enter and those that leave a connection.

`with client.realtime.connect(...)` and `client.realtime.connect(...).enter()` are two names of one method.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.genai.openai import patches
from otel_fastpath.genai.openai.realtime.sessions import RealtimeConnection, begin
from otel_fastpath.genai.openai.streams import leaving
from otel_fastpath.patching.outcome import call_guarded, never_raises
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.genai.openai.telemetry import OpenAITelemetry
    from otel_fastpath.settings import Config

_PLACE: Final = "the end of an OpenAI websocket"

_telemetry: OpenAITelemetry | None = None


def use(telemetry: OpenAITelemetry | None) -> None:
    """Use this telemetry for sessions from now on; None: do not instrument them."""
    global _telemetry
    _telemetry = telemetry


def _make_enter(operation: str, owner: str, original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def __enter__(self: Any) -> Any:  # noqa: N807  # the name of what it replaces
        session = None
        try:
            session = begin(_telemetry, operation, self, owner)
            connection = original(self)
            if session is not None:
                _follow_or_end(session, connection, _methods)
        except BaseException as error:
            if session is not None:
                try:
                    session.end(error)
                finally:
                    # See `wrapping.call`: the first may have been interrupted.
                    session.end(error)
            raise
        return connection

    return __enter__


def _make_async_enter(operation: str, owner: str, original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    async def __aenter__(self: Any) -> Any:  # noqa: N807  # likewise
        session = None
        try:
            session = begin(_telemetry, operation, self, owner)
            connection = await original(self)
            if session is not None:
                _follow_or_end(session, connection, _async_methods)
        except BaseException as error:
            if session is not None:
                try:
                    session.end(error)
                finally:
                    # See `wrapping.call`: the first may have been interrupted.
                    session.end(error)
            raise
        return connection

    return __aenter__


class Followed:
    """A connection whose methods are replaced by ours until its session is over."""

    __slots__ = ("_connection", "_lost", "_put", "session")

    def __init__(self, session: RealtimeConnection, connection: Any) -> None:
        self.session = session
        self._connection = connection
        self._lost: Any = None
        self._put: dict[str, Any] = {}

    def put(self, methods: dict[str, Any]) -> None:
        """Put the methods before the connection's own."""
        self._put.update(methods)
        vars(self._connection).update(methods)

    @never_raises(_PLACE)
    def fail(self, error: BaseException) -> None:
        """Hear why nothing was received: because the connection is no more, or for a reason of the caller's."""
        if type(error).__name__.startswith("ConnectionClosed"):
            # The client's iteration makes a new one where it was asked to.
            self.session.lose(error, comes_again=getattr(self._connection, "_on_reconnecting", None) is not None)
            self._lost = self._connection._connection
            self._restore()

    @never_raises(_PLACE)
    def leave(self) -> None:
        """End a session that the caller has closed."""
        if self._connection._connection is not self._lost:
            self.session.regain()
        error = leaving.get()
        self.session.end(error if isinstance(error, BaseException) else None)
        self._restore()

    def _restore(self) -> None:
        if self.session.is_over:
            own = vars(self._connection)
            for name, mine in self._put.items():
                if own.get(name) is mine:
                    del own[name]
            self._put.clear()


def _follow_or_end(
    session: RealtimeConnection, connection: Any, methods: Callable[[Followed, Any], dict[str, Any]]
) -> None:
    """Follow a connection that was made, or end the session if it is not recorded. Never raises."""
    session.leave()
    if not call_guarded("a new OpenAI websocket", _try_follow, session, connection, methods):
        session.end()


def _try_follow(
    session: RealtimeConnection, connection: Any, methods: Callable[[Followed, Any], dict[str, Any]]
) -> bool:
    """Follow a connection, if its session is recorded."""
    if not session.is_recorded:
        return False
    followed = Followed(session, connection)
    parse = connection.parse_event
    kinds, hear = session.kinds, session.hear

    # Flat, because it runs for each event.
    @functools.wraps(parse)
    def parse_event(data: Any) -> Any:
        event = parse(data)
        kind = getattr(event, "type", None)
        # What has no type of its own is no model, or an odd one.
        if type(kind) is not str or kind in kinds:
            hear(event)
        return event

    followed.put({"parse_event": parse_event, **methods(followed, connection)})
    return True


def _methods(followed: Followed, connection: Any) -> dict[str, Any]:
    """The methods that receive, close and, if content is kept, send."""
    receive, close_it, send_it = connection.recv_bytes, connection.close, connection.send

    @functools.wraps(receive)
    def recv_bytes(*args: Any, **kwargs: Any) -> Any:
        try:
            return receive(*args, **kwargs)
        except Exception as error:
            followed.fail(error)
            raise

    @functools.wraps(close_it)
    def close(*args: Any, **kwargs: Any) -> Any:
        try:
            return close_it(*args, **kwargs)
        finally:
            followed.leave()

    @functools.wraps(send_it)
    def send(event: Any, *args: Any, **kwargs: Any) -> Any:
        followed.session.hear_sent(event)
        return send_it(event, *args, **kwargs)

    put = {"recv_bytes": recv_bytes, "close": close}
    return {**put, "send": send} if followed.session.captures else put


def _async_methods(followed: Followed, connection: Any) -> dict[str, Any]:
    """Likewise, for the asynchronous client."""
    receive, close_it, send_it = connection.recv_bytes, connection.close, connection.send

    @functools.wraps(receive)
    async def recv_bytes(*args: Any, **kwargs: Any) -> Any:
        try:
            return await receive(*args, **kwargs)
        except Exception as error:
            followed.fail(error)
            raise

    @functools.wraps(close_it)
    async def close(*args: Any, **kwargs: Any) -> Any:
        try:
            return await close_it(*args, **kwargs)
        finally:
            followed.leave()

    @functools.wraps(send_it)
    async def send(event: Any, *args: Any, **kwargs: Any) -> Any:
        followed.session.hear_sent(event)
        return await send_it(event, *args, **kwargs)

    put = {"recv_bytes": recv_bytes, "close": close}
    return {**put, "send": send} if followed.session.captures else put


# The client's name for it -> the module, and the prefix of its class names.
SESSIONS: Final = (
    ("realtime.connect", "realtime.realtime", "Realtime"),
    ("realtime.translations.connect", "realtime.translations.translations", "Translations"),
    ("live.connect", "live.live", "Live"),
    ("live.forks.connect", "live.forks", "Forks"),
    ("live.sideband.connect", "live.sideband", "Sideband"),
    ("responses.connect", "responses.responses", "Responses"),
    ("realtime.connect", "beta.realtime.realtime", "Realtime"),
    ("responses.connect", "beta.responses.responses", "Responses"),
)
# The module is older than its connections. An older client without them is no reason to warn.
_SINCE: Final = {"responses.responses": ("openai>=2.22",)}
_WHY_ENTER: Final = "A session is one span, from before it connects until it is closed, with the sum of its tokens."
_WHY_EXIT: Final = "A session that is left with an exception fails, one that is left without does not."

_BUDGETS: Final = ("openai, websocket session", "openai, websocket event")


def _patches_of(operation: str, module: str, kind: str) -> Iterator[Patch]:
    name = f"{'beta.' if module.startswith('beta.') else ''}{kind.lower()}"
    owner, since = f"{kind}ConnectionManager", _SINCE.get(module, ())
    for own, before, make, make_exit, more in (
        (owner, "__", _make_enter, patches.make_exit, ""),
        (f"Async{owner}", "__a", _make_async_enter, patches.make_async_exit, ".async"),
    ):
        target = f"openai.resources.{module}:{own}"
        entering = functools.partial(make, operation, own)
        for attribute, label in ((f"{before}enter__", "with"), ("enter", "enter")):
            yield _patch(f"{name}.{label}{more}", f"{target}.{attribute}", _WHY_ENTER, entering, since)
        yield _patch(f"{name}.exit{more}", f"{target}.{before}exit__", _WHY_EXIT, make_exit, since)


def _patch(name: str, target: str, why: str, make: Callable[[Any, Config], Any], since: tuple[str, ...]) -> Patch:
    requires = (*patches.REQUIRES, *since)
    return Patch(f"openai.socket.{name}", target, why, make, requires, needs_gil=False, budgets=_BUDGETS)


PATCHES: Final = tuple(patch for each in SESSIONS for patch in _patches_of(*each))
