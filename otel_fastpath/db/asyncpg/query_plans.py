"""What is worked out once for asyncpg: its set-up, and what is stored for a connection.

A connection's protocol object, of a class with a `__dict__`, holds its `ConnectionPlan`.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db import query_plans
from otel_fastpath.db.asyncpg.stock_telemetry import StockConventions
from otel_fastpath.db.conventions import PREPARE
from otel_fastpath.db.database import Database
from otel_fastpath.db.options import options_with
from otel_fastpath.db.server_attributes import POSTGRESQL, Server
from otel_fastpath.patching import faults

CONNECTION_PLAN: Final = "_otel_fastpath"
COPY: Final = "COPY "
_SILENT: Final = frozenset({PREPARE, COPY})
# A query that asyncpg itself makes, in Transaction.start.
_ITS_OWN: Final = frozenset({"SHOW transaction_isolation;"})
# Each of asyncpg's savepoints has a name of its own.
_SAVEPOINTS: Final = ("SAVEPOINT __asyncpg_", "RELEASE SAVEPOINT __asyncpg_", "ROLLBACK TO __asyncpg_")


class Plans(query_plans.QueryPlans):
    """The plans for one server and database; their `own` is the query that a connection's `reset` executes."""

    __slots__ = ()

    def is_kept(self, text: str) -> bool:
        """Whether the text is likely to be used again."""
        return not text.startswith(_SAVEPOINTS)

    def is_silent(self, prefix: str) -> bool:
        """Whether the stock instrumentation, whose spans are all that is wanted, has none for such queries."""
        return self.active.is_same and prefix in _SILENT

    def is_quiet(self, text: Any, operation: str) -> bool:
        """Whether the text is asyncpg's own, which stock's instruments, or disabled by the options."""
        if not issubclass(type(text), str):
            return False
        if self.active.is_same:
            return super().is_quiet(text, operation)
        is_reset = not self.active.options.reset and text != "" and text == self.own
        return text in _ITS_OWN or is_reset or super().is_quiet(text, operation)


def server_of(address: Any, params: Any) -> Server:
    """The server of a connection.

    Args:
        address: Host and port, or the path of a Unix socket.
        params: asyncpg's `_ConnectionParameters`, which have `database` and `user`.
    """
    place = tuple(address) if isinstance(address, list) else address
    return Server(POSTGRESQL, place, getattr(params, "database", None), getattr(params, "user", None))


def _server(connection: Any) -> Server:
    return server_of(getattr(connection, "_addr", None), getattr(connection, "_params", None))


def _reset_query(connection: Any) -> Any:
    """The query that the connection's `reset` executes."""
    try:
        # It became public with 0.30.
        return (getattr(connection, "get_reset_query", None) or connection._get_reset_query)()
    except Exception as error:  # a subclass may override it
        faults.raise_interruption(error)
        return ""


DATABASE: Final = Database(
    "asyncpg",
    _server,
    # PostgreSQL's errors have one.
    status_code=lambda error: getattr(error, "sqlstate", None),
    connection=lambda held: held if hasattr(held, "_protocol") else held._connection,
    connection_plan=f"_protocol.{CONNECTION_PLAN}",
    # Spans: waiting for a connection of a pool, and the query that resets a connection when it returns to its pool.
    options=options_with("acquire", "reset"),
    stock=StockConventions,
    make_plans=Plans,
    own=_reset_query,
)
