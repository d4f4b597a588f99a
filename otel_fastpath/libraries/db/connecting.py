"""Connecting: the call of each connect, which is begun once the server is known: mostly when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled

if TYPE_CHECKING:
    from otel_fastpath.libraries.db.database import Database
    from otel_fastpath.libraries.db.servers import Server

_NAME: Final = "CONNECT"


def tell_connect(database: Database, start_ns: int, server: Server, error: BaseException | None = None) -> None:
    """Record a connect that is over, and that raised the error, if one is given."""
    begun = _new()
    try:
        if not _has_begun(begun, database, start_ns, server):
            return
        if error is None:
            begun.end()
        else:
            begun.fail(error)
    except BaseException as fault:
        try:
            begun.fail(error or fault)
        finally:
            # See `libraries.call`: the first may have been interrupted.
            begun.fail(error or fault)
        raise


def begin_connect(database: Database, start_ns: int, server: Server) -> Any:
    """Begin the call of a connect; None: it is not instrumented, such as one below a library that has a span for it.

    Args:
        database: The library's `Database`.
        start_ns: When it began, in nanoseconds since the epoch.
        server: The server.
    """
    begun = _new()
    try:
        return begun if _has_begun(begun, database, start_ns, server) else None
    except BaseException as error:
        begun.fail(error)
        raise


def _new() -> Any:
    return compiled.hot("libraries.call_span").new_call()


def _has_begun(begun: Any, database: Database, start_ns: int, server: Server) -> bool:
    active = database.active
    if active is None or active.is_same or active.hot.outer_call() is not None:
        return False
    plan = active.plans_of(server).special(_NAME, {"db.operation.name": _NAME})
    begin = compiled.hot("libraries.call_span").begin_call
    return plan is not None and begin(begun, active.telemetry, plan.name, plan.attributes, plan.series, start_ns)
