"""Transactions: each round trip that begins or ends one, or sets a mark in it, is a span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import calls
from otel_fastpath.db.psycopg import pipelines
from otel_fastpath.db.psycopg.plans import DATABASE
from otel_fastpath.patching.outcome import call_guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Callable

    # Returns the command that a method sends, given its arguments; None: it sends none.
    Command = Callable[..., str | None]

# libpq's PQTRANS_IDLE and CONNECTION_OK
_IDLE: Final = 0
_OK: Final = 0


def around(command: Command, original: Any) -> Any:
    """Wrap a method that sends one command."""

    def begin(begun: list[Any], args: Any, kwargs: Any) -> None:
        call_guarded(DATABASE.place, _begin, begun, command, args, kwargs)

    return calls.around_steps(begin, _done, _end_failed, original)


@never_raises(DATABASE.place)
def _done(begun: list[Any], _args: Any, result: Any) -> None:
    ending, *_ = [*begun, None]
    if ending is not None:
        ending.done(result)


@never_raises(DATABASE.place)
def _end_failed(begun: list[Any], _args: Any, error: BaseException) -> None:
    ending, *_ = [*begun, None]
    if ending is not None:
        ending.end_failed(error)


def _begin(begun: list[Any], command: Command, args: Any, kwargs: Any) -> None:
    """Begin the call, and add what ends it; nothing if it is not instrumented."""
    active = DATABASE.active
    if active is None or not active.options.transactions or active.hot.is_suppressed():
        return
    text = command(*args, **kwargs)
    if text is None:
        return
    connection = getattr(args[0], "_conn", args[0])
    link = DATABASE.link(connection)
    call = active.hot.new_query()
    begun.append(call)
    if not active.hot.open_query(call, link, link.plans.plan(text), active.hot.NO_ROWS, None):
        begun.clear()
    elif connection._pipeline is not None:
        begun[0] = pipelines.submission(connection._pipeline, call, None)


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


def begin_prepared(_connection: Any, xid: Any = None) -> str:  # noqa: ARG001
    """The command of `Connection.tpc_begin`."""
    return "BEGIN"


def prepare(_connection: Any) -> str:
    """The command of `Connection.tpc_prepare`."""
    return "PREPARE TRANSACTION"


def commit_prepared(connection: Any, xid: Any = None) -> str | None:
    """The command of `Connection.tpc_commit`."""
    return "COMMIT PREPARED" if _is_prepared(connection, xid) else commit(connection)


def rollback_prepared(connection: Any, xid: Any = None) -> str | None:
    """The command of `Connection.tpc_rollback`."""
    return "ROLLBACK PREPARED" if _is_prepared(connection, xid) else rollback(connection)


def _is_prepared(connection: Any, xid: Any) -> bool:
    return xid is not None or bool(connection._tpc and connection._tpc[1])
