"""What stands around asyncpg's methods.

A hook is `async def` where the method is one; where asyncpg's own is a plain function that raises at once and returns a
coroutine, so is the hook. The rows that an iterating cursor has buffered are served by asyncpg alone: what is patched
there is the round trip.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sized
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import core
from otel_fastpath.core import faults
from otel_fastpath.wrap.asyncpg import _active, _comments
from otel_fastpath.wrap.asyncpg._convention import BATCH, CURSOR, PREPARE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    # Begins the query, given the arguments of the host's method; what a result says of the number of rows.
    Opener = Callable[[Any, Any], Any]
    Rows = Callable[[Any, Any], int | None]

_PLACE: Final = "an asyncpg call"
# self and the query
_BEFORE_PARAMETERS: Final = 2


def link_of(connection: Any) -> Any:
    """The connection's link, made anew where the set-up is another."""
    link = getattr(getattr(connection, "_protocol", None), _active.LINK, None)
    return _active.link(connection) if link is None or link.active is not _active.active else link


def begin(link: Any, plan: Any, start_ns: int | None = None) -> Any:
    """Begin a query; None where nobody looks at it."""
    hot = link.active.hot
    return None if hot.is_suppressed() else hot.open_query(link, plan, 0, start_ns)


def capture(call: Any, link: Any, args: Any) -> None:
    """The parameters of a query become attributes, for those who asked."""
    if call is not None and call.recording and link.active.captures:
        try:
            call.span.set_attributes(link.active.convention.parameters(args))
        except Exception as error:
            faults.report(_PLACE, error)


def no_rows(_call: Any, _result: Any) -> int | None:
    """For what returns no rows."""
    return None


def all_rows(_call: Any, result: Any) -> int | None:
    """For what returns a list of rows."""
    return len(result)


def one_row(_call: Any, result: Any) -> int | None:
    """For what returns a row or None."""
    return 0 if result is None else 1


def one_value(_call: Any, result: Any) -> int | None:
    """For what returns a value of a row: None can be the value."""
    return None if result is None else 1


def on_query(rows: str, original: Any) -> Any:
    """Around a method of `Connection` that executes one query.

    Args:
        rows: How the rows of its result are counted: the name of one of the numbers of `core._call`.
        original: The method.
    """
    hot = core.hot("_call")
    enter, kind = hot.enter, getattr(hot, rows)

    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        call = enter(args, kwargs, kind)
        if call is None:
            return await original(*args, **kwargs)
        if _active.active.is_curious:
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
    capture(call, call.link, args[_BEFORE_PARAMETERS:])
    try:
        if call.link.active.options.sqlcommenter:
            return _comments.commented(args, kwargs)
    except Exception as error:
        faults.report(_PLACE, error)
    return args, kwargs


async def watch(
    opener: Opener,
    rows: Rows,
    args: Any,
    kwargs: Any,
    coroutine: Coroutine[Any, Any, Any],
) -> Any:
    """Await the host's coroutine inside a call.

    Args:
        opener: Begins the call, given the arguments of the host's method.
        rows: The number of rows in the result.
        args: The method's.
        kwargs: The method's.
        coroutine: What it returned.
    """
    call = None
    try:
        call = opener(args, kwargs)
    except Exception as error:
        faults.report(_PLACE, error)
    if call is None:
        return await coroutine
    try:
        result = await coroutine
    except BaseException as error:
        call.failed(error)
        raise
    try:
        number = rows(call, result)
        if number is not None:
            call.told(number)
    except Exception as error:
        faults.report(_PLACE, error)
    call.done(result)
    return result


def around(opener: Opener, rows: Rows, original: Any) -> Any:
    """Around a method that is either `async def`, or raises at once and returns a coroutine."""
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def method(*args: Any, **kwargs: Any) -> Any:
            return await watch(opener, rows, args, kwargs, original(*args, **kwargs))

    else:

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return watch(opener, rows, args, kwargs, original(*args, **kwargs))

    return method


def of_statement(args: Any, _kwargs: Any) -> Any:
    """Open a call of a prepared statement."""
    link = link_of(args[0]._connection)
    call = begin(link, link.plans.plan(args[0]._query))
    capture(call, link, args[1:])
    return call


def explaining(args: Any, kwargs: Any) -> Any:
    """Open a call of `PreparedStatement.explain`, with the text that it makes."""
    link = link_of(args[0]._connection)
    options = "FORMAT JSON, VERBOSE, ANALYZE" if kwargs.get("analyze") else "FORMAT JSON, VERBOSE"
    return begin(link, link.plans.plan(f"EXPLAIN ({options}) {args[0]._query}"))


def batch(link: Any, text: Any, sets: Any) -> Any:
    """Open a call with several sets of parameters."""
    size = len(sets) if isinstance(sets, Sized) else None
    call = begin(link, link.plans.plan(text, "" if size == 1 else BATCH))
    if call is not None and call.recording and size is not None and size != 1:
        call.span.set_attribute("db.operation.batch.size", size)
    return call


def of_batch(args: Any, kwargs: Any) -> Any:
    """Open a call of `Connection.executemany` or `fetchmany`."""
    link = link_of(args[0])
    text = args[1] if len(args) > 1 else kwargs.get("command", kwargs.get("query"))
    return batch(link, text, args[2] if len(args) > _BEFORE_PARAMETERS else kwargs.get("args"))


def of_statement_batch(args: Any, kwargs: Any) -> Any:
    """Open a call of `PreparedStatement.executemany` or `fetchmany`."""
    link = link_of(args[0]._connection)
    return batch(link, args[0]._query, args[1] if len(args) > 1 else kwargs.get("args"))


def preparing(args: Any, kwargs: Any) -> Any:
    """Open a call of `Connection.prepare`."""
    link = link_of(args[0])
    return begin(link, link.plans.plan(args[1] if len(args) > 1 else kwargs.get("query"), PREPARE))


def of_cursor(args: Any, _kwargs: Any) -> Any:
    """Open a round trip of a cursor; the first takes in that its statement was prepared before."""
    cursor = args[0]
    link = link_of(cursor._connection)
    prepared, link.prepared = link.prepared, None
    start_ns = prepared[1] if prepared is not None and prepared[0] is cursor._state else None
    call = begin(link, link.plans.plan(cursor._query, CURSOR), start_ns)
    if start_ns is not None:
        capture(call, link, cursor._args)
    return call


def cursor_rows(_call: Any, result: Any) -> int | None:
    """The rows that a round trip of a cursor brought."""
    return len(result) if isinstance(result, list) else None


def on_prepare(original: Any) -> Any:
    """Around `Protocol.prepare`, for the statements of cursors: no call of the connection is around those.

    That it succeeds is part of the cursor's first round trip; if it fails, that is the cursor's only span.
    """

    @functools.wraps(original)
    async def prepare(*args: Any, **kwargs: Any) -> Any:
        link = getattr(args[0], _active.LINK, None)
        if link is None or link.call is not None or link.active is not _active.active:
            return await original(*args, **kwargs)
        start_ns = time_ns()
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            _failed_to_prepare(link, args, start_ns, error)
            raise
        link.prepared = (result, start_ns)
        return result

    return prepare


def _failed_to_prepare(link: Any, args: Any, start_ns: int, error: BaseException) -> None:
    try:
        text = args[2] if len(args) > _BEFORE_PARAMETERS else None
        call = begin(link, link.plans.plan(text, CURSOR), start_ns)
    except Exception as fault:
        faults.report(_PLACE, fault)
    else:
        if call is not None:
            call.failed(error)
