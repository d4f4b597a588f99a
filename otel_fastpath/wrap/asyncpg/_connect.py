"""Connecting: one span for each `connect`, also those of pools that were made before.

`asyncpg.connect` works its arguments out inside; the span begins where it has done so, with the time at which it was
called, so that it has the server's attributes from its start.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.core import faults
from otel_fastpath.wrap import _call
from otel_fastpath.wrap.asyncpg import _active
from otel_fastpath.wrap.asyncpg._convention import Server

if TYPE_CHECKING:
    from otel_fastpath.wrap._call import Call

_PLACE: Final = "asyncpg's connect"
NAME: Final = "CONNECT"


class _Attempt:
    """One `connect` that is going on."""

    __slots__ = ("call", "start_ns")

    def __init__(self) -> None:
        self.start_ns = time_ns()
        self.call: Call | None = None

    def begin(self, server: Server) -> None:
        """Begin the span, once it is known where to."""
        if self.call is None and _active.active is not None:
            plan = _active.active.plans_of(server, "").special(NAME, {"db.operation.name": NAME})
            self.call = _call.begin(_active.active.telemetry, plan.name, plan.attributes, plan.series, self.start_ns)


_attempt: ContextVar[_Attempt | None] = ContextVar("otel_fastpath_asyncpg_attempt", default=None)


def make_connect(original: Any) -> Any:
    """Around `connect`, under each name that it has, and around what it calls: only the outermost is looked at."""

    @functools.wraps(original)
    async def connect(*args: Any, **kwargs: Any) -> Any:
        if _attempt.get() is not None:
            return await original(*args, **kwargs)
        attempt = _Attempt()
        token = _attempt.set(attempt)
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            _attempt.reset(token)
            _fail(attempt, error)
            raise
        _attempt.reset(token)
        if attempt.call is not None:
            attempt.call.end()
        return result

    return connect


def _fail(attempt: _Attempt, error: BaseException) -> None:
    try:
        # Arguments that asyncpg did not understand.
        attempt.begin(Server(None, None))
        if attempt.call is not None:
            attempt.call.fail(error)
    except Exception as fault:
        faults.report(_PLACE, fault)


def make_parse(original: Any) -> Any:
    """Around what works out where to connect to."""

    @functools.wraps(original)
    def parse(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        attempt = _attempt.get()
        if attempt is not None:
            try:
                addresses, params, *_ = result
                attempt.begin(Server(addresses[0] if addresses else None, params))
            except Exception as error:
                faults.report(_PLACE, error)
        return result

    return parse
