"""Transactions: each round trip that begins or ends one, or sets a mark in it, is a span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import call_wrappers
from otel_fastpath.db.psycopg import pipelines
from otel_fastpath.db.psycopg.query_plans import DATABASE

if TYPE_CHECKING:
    from collections.abc import Callable

# libpq's PQTRANS_IDLE and CONNECTION_OK
_IDLE: Final = 0
_OK: Final = 0


def around(command: Callable[..., str | None], original: Any) -> Any:
    """Wrap a method that sends one command; this is returned for the method's arguments, or None if it sends none."""
    during = pipelines.ending_in_transaction if command in {enter, leave} else pipelines.ending_of_command
    return call_wrappers.around_command(DATABASE, command, original, during=during)


def commit(connection: Any) -> str | None:
    """The command of `Connection.commit`."""
    return None if connection.pgconn.transaction_status == _IDLE else "COMMIT"


def rollback(connection: Any) -> str | None:
    """The command of `Connection.rollback`."""
    return None if connection.pgconn.transaction_status == _IDLE else "ROLLBACK"


def enter(transaction: Any) -> str:
    """The command of entering a `Transaction`, without the name of its savepoint, which may be different each time."""
    return "BEGIN" if transaction.pgconn.transaction_status == _IDLE else "SAVEPOINT"


# The parameters of those below have psycopg's names: they may be passed by keyword.
def leave(transaction: Any, exc_type: Any = None, exc_val: Any = None, exc_tb: Any = None) -> str | None:  # noqa: ARG001
    """The command of leaving a `Transaction`."""
    if transaction.pgconn.status != _OK:
        return None
    if exc_val is None and not transaction.force_rollback:
        return "COMMIT" if transaction._outer_transaction else "RELEASE SAVEPOINT"
    return "ROLLBACK" if transaction._outer_transaction else "ROLLBACK TO"


def commit_prepared(connection: Any, xid: Any = None) -> str | None:
    """The command of `Connection.tpc_commit`."""
    return "COMMIT PREPARED" if _is_prepared(connection, xid) else commit(connection)


def rollback_prepared(connection: Any, xid: Any = None) -> str | None:
    """The command of `Connection.tpc_rollback`."""
    return "ROLLBACK PREPARED" if _is_prepared(connection, xid) else rollback(connection)


def _is_prepared(connection: Any, xid: Any) -> bool:
    return xid is not None or bool(connection._tpc and connection._tpc[1])
