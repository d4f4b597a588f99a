"""Connecting: the call of each connect, which is begun once the server is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.libraries import call

if TYPE_CHECKING:
    from otel_fastpath.libraries.db.database import Database
    from otel_fastpath.libraries.db.servers import Server

_NAME: Final = "CONNECT"


def begin_connect(database: Database, start_ns: int, server: Server) -> Any:
    """Begin the call of a connect; None: it is not instrumented, such as one below a library that has a span for it.

    Args:
        database: The library's `Database`.
        start_ns: When it began, in nanoseconds since the epoch.
        server: The server.
    """
    active = database.active
    if active is None or active.is_same or active.hot.outer_call() is not None:
        return None
    plan = active.plans_of(server).special(_NAME, {"db.operation.name": _NAME})
    return None if plan is None else call.begin(active.telemetry, plan.name, plan.attributes, plan.series, start_ns)
