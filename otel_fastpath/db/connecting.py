"""Connecting: the call of each connect, which is begun once the server is known: mostly when it is over."""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.steps import around_steps
from otel_fastpath.patching.outcome import never_raises
from otel_fastpath.wrapping.call import begin, new

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.database import Database
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.call_span import Call

_NAME: Final = "CONNECT"
_ATTRIBUTES: Final = {"db.operation.name": _NAME}


def around_connect(
    database: Database,
    connected: Callable[[Any, Any, Any, int], Server | None],
    meant: Callable[[Any, Any], Server],
    original: Any,
) -> Any:
    """Wrap a function or method, `async def` or not, that connects.

    Args:
        database: The driver's `Database`.
        connected: Returns the server, given what was returned, the arguments, the keyword arguments, and when the
            connect began, in nanoseconds since the epoch; None: there is no span now.
        meant: Returns the server that the arguments mean, after an exception.
        original: The function.
    """
    place = f"{database.name}'s connect"

    def start(begun: list[Any], _args: Any, kwargs: Any) -> None:
        begun += (time_ns(), kwargs)

    @never_raises(place)
    def done(begun: list[Any], args: Any, result: Any) -> None:
        start_ns, kwargs = begun
        # It is told once, even if that is interrupted.
        begun.clear()
        server = connected(result, args, kwargs, start_ns)
        if server is not None:
            record_connect(database, start_ns, server)

    @never_raises(place)
    def failed(begun: list[Any], args: Any, error: BaseException) -> None:
        if begun:
            start_ns, kwargs = begun
            begun.clear()
            record_connect(database, start_ns, meant(args, kwargs), error)

    return around_steps(start, done, failed, original)


def record_connect(database: Database, start_ns: int, server: Server, error: BaseException | None = None) -> None:
    """Record a connect that is over, and that raised the error, if one is given."""
    begun = new()
    try:
        if not begin_connect(begun, database, start_ns, server):
            return
        if error is None:
            begun.end()
        else:
            begun.fail(error)
    except BaseException as fault:
        try:
            begun.fail(error or fault)
        finally:
            # See `wrapping.call`: the first may have been interrupted.
            begun.fail(error or fault)
        raise


def begin_connect(call: Call, database: Database, start_ns: int, server: Server) -> bool:
    """Begin the call of a connect, unless a library above has a span for it; returns whether it has begun."""
    active = database.active
    if active is None or active.is_same or active.hot.outer_call() is not None:
        return False
    plan = active.plans_of(server).special(_NAME, _ATTRIBUTES)
    return plan is not None and begin(call, active.telemetry, plan.name, plan.attributes, plan.series, start_ns)
