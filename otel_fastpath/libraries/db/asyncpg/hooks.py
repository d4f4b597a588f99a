"""What stands around asyncpg's methods.

A hook is `async def` where the method is one; where asyncpg's own is a plain function that raises at once and returns a
coroutine, so is the hook. The rows that an iterating cursor has buffered are served by asyncpg alone: what is patched
there is the round trip.
"""

from __future__ import annotations

import functools
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.libraries.db import calls, comments
from otel_fastpath.libraries.db.asyncpg import plans
from otel_fastpath.libraries.db.calls import Watcher, all_rows, batch, no_rows, one_row, one_value
from otel_fastpath.libraries.db.conventions import CURSOR, PREPARE
from otel_fastpath.patching.outcome import guarded

if TYPE_CHECKING:
    from otel_fastpath.libraries.db.calls import Opener, Opening, Rows

__all__ = ["all_rows", "around", "no_rows", "on_prepare", "on_query", "one_row", "one_value"]

_PLACE: Final = "an asyncpg call"
# self and the query
_BEFORE_PARAMETERS: Final = 2
# Of the parameter that is the query.
_QUERY_NAMES: Final = ("query", "command")


def link_of(connection: Any) -> Any:
    """The connection's link, made anew where the set-up is another."""
    link = getattr(getattr(connection, "_protocol", None), plans.LINK, None)
    return plans.link(connection) if link is None or link.active is not plans.active else link


def _link_held(held: Any) -> Any:
    """The link of a connection, or of that of a statement or cursor."""
    connection = held if hasattr(held, "_protocol") else getattr(held, "_connection", None)
    return getattr(getattr(connection, "_protocol", None), plans.LINK, None)


_WATCHER: Final = Watcher(_PLACE, _link_held)


def around(opener: Opener, rows: Rows, original: Any) -> Any:
    """Around a method that is either `async def`, or raises at once and returns a coroutine."""
    return calls.around(_WATCHER, opener, rows, original)


def on_query(rows: str, original: Any) -> Any:
    """Around a method of `Connection` that executes one query.

    Args:
        rows: How the rows of its result are counted: the name of one of the numbers of `libraries.call_span`.
        original: The method.
    """
    enter = compiled.hot("libraries.call_span").enter
    kind = getattr(compiled.hot("libraries.call_span"), rows)

    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        call = enter(args, kwargs, kind)
        if call is None:
            return await original(*args, **kwargs)
        if plans.active.is_curious:
            args, kwargs = look(call, args, kwargs)
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            call.failed(error)
            raise
        call.done(result)
        return result

    return method


def look(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """What is done for those who asked: parameters become attributes, the trace context a comment."""
    if call.recording:
        guarded(_PLACE, calls.tell, call, call.link, args[_BEFORE_PARAMETERS:], None)
    return guarded(_PLACE, _commented, call, args, kwargs) or (args, kwargs)


def _commented(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    return comments.commented(args, kwargs, _QUERY_NAMES) if call.link.active.options.sqlcommenter else (args, kwargs)


def of_statement(args: Any, _kwargs: Any) -> Opening:
    """Open a call of a prepared statement."""
    link = link_of(args[0]._connection)
    return link, link.plans.plan(args[0]._query, "", len(args) > 1), None, args[1:], None


def explaining(args: Any, kwargs: Any) -> Opening:
    """Open a call of `PreparedStatement.explain`, with the text that it makes."""
    link = link_of(args[0]._connection)
    options = "FORMAT JSON, VERBOSE, ANALYZE" if kwargs.get("analyze") else "FORMAT JSON, VERBOSE"
    return link, link.plans.plan(f"EXPLAIN ({options}) {args[0]._query}"), None, None, None


def of_batch(args: Any, kwargs: Any) -> Opening:
    """Open a call of `Connection.executemany` or `fetchmany`."""
    link = link_of(args[0])
    text = args[1] if len(args) > 1 else kwargs.get("command", kwargs.get("query"))
    given = args[_BEFORE_PARAMETERS:]
    return batch(link, text, given[0] if given else kwargs.get("args"), given)


def of_statement_batch(args: Any, kwargs: Any) -> Opening:
    """Open a call of `PreparedStatement.executemany` or `fetchmany`."""
    link = link_of(args[0]._connection)
    given = args[1:]
    return batch(link, args[0]._query, given[0] if given else kwargs.get("args"), given)


def preparing(args: Any, kwargs: Any) -> Opening:
    """Open a call of `Connection.prepare`."""
    link = link_of(args[0])
    return link, link.plans.plan(args[1] if len(args) > 1 else kwargs.get("query"), PREPARE), None, None, None


def of_cursor(args: Any, _kwargs: Any) -> Opening:
    """Open a round trip of a cursor; the first takes in that its statement was prepared before."""
    cursor = args[0]
    link = link_of(cursor._connection)
    prepared, link.prepared = link.prepared, None
    plan = link.plans.plan(cursor._query, CURSOR, bool(cursor._args))
    if prepared is not None and prepared[0] is cursor._state:
        return link, plan, prepared[1], cursor._args, None
    return link, plan, None, None, None


def cursor_rows(_call: Any, result: Any) -> int | None:
    """The rows that a round trip of a cursor brought."""
    return len(result) if isinstance(result, list) else None


def on_prepare(original: Any) -> Any:
    """Around `Protocol.prepare`, for the statements of cursors: no call of the connection is around those.

    That it succeeds is part of the cursor's first round trip; if it fails, that is the cursor's only span.
    """

    @functools.wraps(original)
    async def prepare(*args: Any, **kwargs: Any) -> Any:
        unwatched = guarded(_PLACE, _unwatched, args[0])
        if unwatched is None:
            return await original(*args, **kwargs)
        link, start_ns = unwatched
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            call = calls.begin(_WATCHER, _failed_to_prepare, (link, args, start_ns), None)
            if call is not None:
                call.failed(error)
            raise
        link.prepared = (result, start_ns)
        return result

    return prepare


def _unwatched(protocol: Any) -> Any:
    """The link of a connection of which no call is going on, and the time; else None."""
    link = getattr(protocol, plans.LINK, None)
    is_watched = link is None or link.call is not None or link.active is not plans.active
    return None if is_watched else (link, time_ns())


def _failed_to_prepare(args: Any, _kwargs: Any) -> Opening:
    link, given, start_ns = args
    text = given[2] if len(given) > _BEFORE_PARAMETERS else None
    return link, link.plans.plan(text, CURSOR), start_ns, None, None
