"""Connecting: the call of each connect, which is begun once the server is known: mostly when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.wrapping.call import begin, new

if TYPE_CHECKING:
    from otel_fastpath.db.database import Database
    from otel_fastpath.db.servers import Server
    from otel_fastpath.wrapping.call import BegunCall

_NAME: Final = "CONNECT"


def tell_connect(database: Database, start_ns: int, server: Server, error: BaseException | None = None) -> None:
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


def begin_connect(call: BegunCall, database: Database, start_ns: int, server: Server) -> bool:
    """Begin the call of a connect, unless it is not instrumented, such as one below a library that has a span for it.

    Args:
        call: What `wrapping.call.new` made.
        database: The library's `Database`.
        start_ns: When it began, in nanoseconds since the epoch.
        server: The server.

    Returns:
        Whether it has begun.
    """
    active = database.active
    if active is None or active.is_same or active.hot.outer_call() is not None:
        return False
    plan = active.plans_of(server).special(_NAME, {"db.operation.name": _NAME})
    return plan is not None and begin(call, active.telemetry, plan.name, plan.attributes, plan.series, start_ns)
