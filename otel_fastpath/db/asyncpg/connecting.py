"""Connecting: one span for each `connect`, also for those of existing pools.

`asyncpg.connect` parses its arguments itself. The span begins after that, with the time of the call as its start, so
that it has the server's attributes from its start.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.helpers import set_value
from otel_fastpath.db.asyncpg import query_plans
from otel_fastpath.db.connecting import begin_connect
from otel_fastpath.patching.outcome import never_raises, reset
from otel_fastpath.wrapping.call import new

if TYPE_CHECKING:
    from contextvars import Token

    from otel_fastpath.wrapping.call_span import Call

_PLACE: Final = "asyncpg's connect"


class _Attempt:
    """One `connect` in progress."""

    start_ns = 0
    call: Call | None = None
    is_begun = is_over = True
    token: Token[_Attempt | None] | None = None

    @never_raises(_PLACE)
    def enter(self) -> bool:
        """Make this the current attempt; returns whether it is: inside of another, it is not."""
        around = _attempt.get()
        # An abandoned attempt that was closed in another context is still set in this one, but is over.
        if around is not None and not around.is_over:
            return False
        self.start_ns = time_ns()
        self.token = set_value(_attempt, self)
        # Last: an attempt inside of one that could not be made current has the span.
        self.is_begun = self.is_over = False
        return True

    @never_raises(_PLACE)
    def begin(self, address: Any, params: Any) -> None:
        """Begin the span, once the server is known; below a library that has one for it, there is none."""
        if not self.is_begun:
            self.is_begun = True
            self.call = new()
            begin_connect(self.call, query_plans.DATABASE, self.start_ns, query_plans.server_of(address, params))
            # The connection's transport keeps the context in which it is made: spans of listeners would be children of
            # this one.
            self.call.leave()

    def leave(self) -> None:
        """Make this no longer the current attempt; its call goes on."""
        self.is_over = True
        if self.token is not None:
            reset(_attempt, self.token)
            self.token = None

    def end(self) -> None:
        """End the span: there is a connection."""
        self.leave()
        if self.call is not None:
            self.call.end()

    def fail(self, error: BaseException) -> None:
        """End the span: connecting failed."""
        self.leave()
        # For arguments that asyncpg could not parse.
        self.begin(None, None)
        if self.call is not None:
            self.call.fail(error)


_attempt: ContextVar[_Attempt | None] = ContextVar("otel_fastpath_asyncpg_attempt", default=None)


def make_connect(original: Any) -> Any:
    """Wrap `connect`, under each of its names, and the function that it calls: only the outermost is instrumented."""

    @functools.wraps(original)
    async def connect(*args: Any, **kwargs: Any) -> Any:
        attempt = _Attempt.__new__(_Attempt)
        try:
            if not attempt.enter():
                return await original(*args, **kwargs)
            result = await original(*args, **kwargs)
            attempt.end()
        except BaseException as error:
            try:
                attempt.fail(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                attempt.fail(error)
            raise
        return result

    return connect


def make_parse(original: Any) -> Any:
    """Wrap the function that parses the arguments of `connect`."""

    @functools.wraps(original)
    def parse(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        _after_parse(result)
        return result

    return parse


@never_raises(_PLACE)
def _after_parse(result: Any) -> None:
    attempt = _attempt.get()
    if attempt is not None and not attempt.is_over:
        addresses, params, *_ = result
        attempt.begin(addresses[0] if addresses else None, params)
