"""Wrappers of asyncpg's methods.

A hook is `async def` if the method is; if asyncpg's method is a plain function that may raise at once and returns a
coroutine, so is the hook. asyncpg alone serves the rows that an iterating cursor has buffered: there, the round trip is
patched.
"""

from __future__ import annotations

import functools
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import call_wrappers
from otel_fastpath.db.asyncpg.query_plans import CONNECTION_PLAN, DATABASE
from otel_fastpath.db.conventions import CURSOR, PREPARE
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from otel_fastpath.db.call_wrappers import Opening

# self and the query
_BEFORE_PARAMETERS: Final = 2


def of_statement(args: Any, _kwargs: Any) -> Opening:
    """Open a call of a prepared statement."""
    connection_plan = DATABASE.connection_plan(args[0]._connection)
    return connection_plan, connection_plan.plans.plan(args[0]._query, "", len(args) > 1), None, args[1:], None


def explaining(args: Any, kwargs: Any) -> Opening:
    """Open a call of `PreparedStatement.explain`, with the text that it makes."""
    connection_plan = DATABASE.connection_plan(args[0]._connection)
    options = "FORMAT JSON, VERBOSE, ANALYZE" if kwargs.get("analyze") else "FORMAT JSON, VERBOSE"
    return connection_plan, connection_plan.plans.plan(f"EXPLAIN ({options}) {args[0]._query}"), None, None, None


def without_telemetry(connection_plan: Any) -> Opening:
    """Open a call that the replaced instrumentation does not instrument; what it executes belongs to it."""
    return connection_plan, None, None, None, None


def of_fetchmany(args: Any, kwargs: Any) -> Opening:
    """Open a call of `Connection.fetchmany`."""
    connection_plan = DATABASE.connection_plan(args[0])
    return without_telemetry(connection_plan) if connection_plan.active.is_same else of_batch(args, kwargs)


def of_batch(args: Any, kwargs: Any) -> Opening:
    """Open a call of `Connection.executemany`."""
    connection_plan = DATABASE.connection_plan(args[0])
    text = args[1] if len(args) > 1 else kwargs.get("command", kwargs.get("query"))
    given = args[_BEFORE_PARAMETERS:]
    return call_wrappers.batch(connection_plan, text, given[0] if given else kwargs.get("args"), given)


def of_statement_batch(args: Any, kwargs: Any) -> Opening:
    """Open a call of `PreparedStatement.executemany` or `fetchmany`."""
    connection_plan = DATABASE.connection_plan(args[0]._connection)
    given = args[1:]
    return call_wrappers.batch(connection_plan, args[0]._query, given[0] if given else kwargs.get("args"), given)


def preparing(args: Any, kwargs: Any) -> Opening:
    """Open a call of `Connection.prepare`."""
    connection_plan = DATABASE.connection_plan(args[0])
    return (
        connection_plan,
        connection_plan.plans.plan(args[1] if len(args) > 1 else kwargs.get("query"), PREPARE),
        None,
        None,
        None,
    )


def opening_cursor(args: Any, kwargs: Any) -> Opening:
    """Open the opening of a cursor; what is prepared for it is part of it."""
    connection_plan = DATABASE.connection_plan(args[0]._connection)
    return without_telemetry(connection_plan) if connection_plan.active.is_same else of_cursor(args, kwargs)


def of_cursor(args: Any, _kwargs: Any) -> Opening:
    """Open a round trip of a cursor; the first one includes the time in which its statement was prepared."""
    cursor = args[0]
    connection_plan = DATABASE.connection_plan(cursor._connection)
    prepared, connection_plan.prepared = connection_plan.prepared, None
    plan = connection_plan.plans.plan(cursor._query, CURSOR, bool(cursor._args))
    if prepared is not None and prepared[0] is cursor._state:
        return connection_plan, plan, prepared[1], cursor._args, None
    return connection_plan, plan, None, None, None


def cursor_rows(_call: Any, result: Any) -> int | None:
    """The rows that a round trip of a cursor returned."""
    return len(result) if isinstance(result, list) else None


def on_prepare(original: Any) -> Any:
    """Wrap `Protocol.prepare` for the statements of cursors, which are prepared outside of any call of the connection.

    If it succeeds, it is part of the cursor's first round trip; if it fails, it is the cursor's only span.
    """
    entrance = DATABASE.of_opener(_failed_to_prepare, is_curious=False)

    @functools.wraps(original)
    async def prepare(*args: Any, **kwargs: Any) -> Any:
        unwatched = call_guarded(DATABASE.place, _unwatched, args[0])
        if unwatched is None:
            return await original(*args, **kwargs)
        connection_plan, start_ns = unwatched
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            call = entrance.new()
            try:
                entrance.enter(call, (connection_plan, args, start_ns), None)
            finally:
                try:
                    call.end_failed(error)
                finally:
                    # See `wrapping.call`: the first may have been interrupted.
                    call.end_failed(error)
            raise
        connection_plan.prepared = (result, start_ns)
        return result

    return prepare


def _unwatched(protocol: Any) -> Any:
    """The connection plan of a connection that has no call in progress, and the time; else None."""
    connection_plan = getattr(protocol, CONNECTION_PLAN, None)
    is_watched = (
        connection_plan is None or connection_plan.call is not None or connection_plan.active is not DATABASE.active
    )
    return None if is_watched else (connection_plan, time_ns())


def _failed_to_prepare(args: Any, _kwargs: Any) -> Opening:
    connection_plan, given, start_ns = args
    text = given[2] if len(given) > _BEFORE_PARAMETERS else None
    return connection_plan, connection_plan.plans.plan(text, CURSOR), start_ns, None, None
