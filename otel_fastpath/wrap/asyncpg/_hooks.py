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

from opentelemetry import trace

from otel_fastpath.core import faults
from otel_fastpath.wrap import _call
from otel_fastpath.wrap.asyncpg import _active, _comments
from otel_fastpath.wrap.asyncpg._convention import BATCH, CURSOR, PREPARE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otel_fastpath.wrap._call import Call
    from otel_fastpath.wrap.asyncpg._active import Link, Plan

    # Begins the call, given the arguments of the host's method; what a result says of the number of rows.
    Opener = Callable[[Any, Any], tuple[Link, Call | None]]
    Rows = Callable[[Call, Any], int | None]

_PLACE: Final = "an asyncpg call"
# self and the query
_BEFORE_PARAMETERS: Final = 2


def link_of(connection: Any) -> Link:
    """The connection's link, made anew where the set-up is another."""
    try:
        link: Link = connection._protocol._otel_fastpath
    except AttributeError:
        return _active.link(connection)
    return link if link.plans.active is _active.active else _active.link(connection)


def begin(link: Link, plan: Plan, start_ns: int | None = None) -> Call | None:
    """Begin a call; None where nobody looks at it: it is suppressed, quiet, or inside another of the connection."""
    around = link.call
    if plan.is_quiet or (around is not None and trace.get_current_span() is around.span):
        return None
    call = _call.begin(link.plans.active.telemetry, plan.name, plan.attributes, plan.series, start_ns)
    if call is not None:
        call.owner = plan.rows
        # Another task that uses the connection meanwhile is told so by asyncpg: its call is a span of its own.
        if around is None:
            link.call = call
    return call


def end(link: Link, call: Call, rows: Rows, result: Any) -> None:
    """End a call that gave this result."""
    if link.call is call:
        link.call = None
    try:
        number = rows(call, result)
        if number is not None:
            if call.owner is not None:
                call.owner(number)
            if call.recording and link.plans.active.options.rows:
                call.span.set_attribute("db.response.returned_rows", number)
    except Exception as error:
        faults.report(_PLACE, error)
    call.end()


def fail(link: Link, call: Call, error: BaseException) -> None:
    """End a call that raised."""
    if link.call is call:
        link.call = None
    call.fail(error)


def no_rows(_call: Call, _result: Any) -> int | None:
    """For what returns no rows."""
    return None


def all_rows(_call: Call, result: Any) -> int | None:
    """For what returns a list of rows."""
    return len(result)


def one_row(_call: Call, result: Any) -> int | None:
    """For what returns a row or None."""
    return 0 if result is None else 1


def one_value(_call: Call, result: Any) -> int | None:
    """For what returns a value of a row: None can be the value."""
    return None if result is None else 1


def on_query(rows: Rows, original: Any) -> Any:
    """Around a method of `Connection` that executes one query."""

    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        call = None
        try:
            link = link_of(args[0])
            call = begin(link, link.plans.plan(args[1] if len(args) > 1 else kwargs.get("query")))
            if call is not None and link.plans.active.is_curious:
                args, kwargs = look(link, call, args, kwargs)
        except Exception as error:
            faults.report(_PLACE, error)
        if call is None:
            return await original(*args, **kwargs)
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            fail(link, call, error)
            raise
        end(link, call, rows, result)
        return result

    return method


def look(link: Link, call: Call, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """What is done for those who asked: parameters become attributes, the trace context a comment."""
    active = link.plans.active
    if call.recording and active.captures:
        call.span.set_attributes(active.convention.parameters(args[_BEFORE_PARAMETERS:]))
    return _comments.commented(args, kwargs) if active.options.sqlcommenter else (args, kwargs)


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
        link, call = opener(args, kwargs)
    except Exception as error:
        faults.report(_PLACE, error)
    if call is None:
        return await coroutine
    try:
        result = await coroutine
    except BaseException as error:
        fail(link, call, error)
        raise
    end(link, call, rows, result)
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


def of_statement(args: Any, _kwargs: Any) -> tuple[Link, Call | None]:
    """Open a call of a prepared statement."""
    link = link_of(args[0]._connection)
    call = begin(link, link.plans.plan(args[0]._query))
    if call is not None and call.recording and link.plans.active.captures:
        call.span.set_attributes(link.plans.active.convention.parameters(args[1:]))
    return link, call


def explaining(args: Any, kwargs: Any) -> tuple[Link, Call | None]:
    """Open a call of `PreparedStatement.explain`, with the text that it makes."""
    link = link_of(args[0]._connection)
    options = "FORMAT JSON, VERBOSE, ANALYZE" if kwargs.get("analyze") else "FORMAT JSON, VERBOSE"
    return link, begin(link, link.plans.plan(f"EXPLAIN ({options}) {args[0]._query}"))


def batch(link: Link, text: Any, sets: Any) -> Call | None:
    """Open a call with several sets of parameters."""
    size = len(sets) if isinstance(sets, Sized) else None
    call = begin(link, link.plans.plan(text, "" if size == 1 else BATCH))
    if call is not None and call.recording and size is not None and size != 1:
        call.span.set_attribute("db.operation.batch.size", size)
    return call


def of_batch(args: Any, kwargs: Any) -> tuple[Link, Call | None]:
    """Open a call of `Connection.executemany` or `fetchmany`."""
    link = link_of(args[0])
    text = args[1] if len(args) > 1 else kwargs.get("command", kwargs.get("query"))
    return link, batch(link, text, args[2] if len(args) > _BEFORE_PARAMETERS else kwargs.get("args"))


def of_statement_batch(args: Any, kwargs: Any) -> tuple[Link, Call | None]:
    """Open a call of `PreparedStatement.executemany` or `fetchmany`."""
    link = link_of(args[0]._connection)
    return link, batch(link, args[0]._query, args[1] if len(args) > 1 else kwargs.get("args"))


def preparing(args: Any, kwargs: Any) -> tuple[Link, Call | None]:
    """Open a call of `Connection.prepare`."""
    link = link_of(args[0])
    return link, begin(link, link.plans.plan(args[1] if len(args) > 1 else kwargs.get("query"), PREPARE))


def of_cursor(args: Any, _kwargs: Any) -> tuple[Link, Call | None]:
    """Open a round trip of a cursor; the first takes in that its statement was prepared before."""
    cursor = args[0]
    link = link_of(cursor._connection)
    prepared, link.prepared = link.prepared, None
    start_ns = prepared[1] if prepared is not None and prepared[0] is cursor._state else None
    call = begin(link, link.plans.plan(cursor._query, CURSOR), start_ns)
    if call is not None and call.recording and start_ns is not None and link.plans.active.captures:
        call.span.set_attributes(link.plans.active.convention.parameters(cursor._args))
    return link, call


def cursor_rows(_call: Call, result: Any) -> int | None:
    """The rows that a round trip of a cursor brought."""
    return len(result) if isinstance(result, list) else None


def on_prepare(original: Any) -> Any:
    """Around `Protocol.prepare`, for the statements of cursors: no call of the connection is around those.

    That it succeeds is part of the cursor's first round trip; if it fails, that is the cursor's only span.
    """

    @functools.wraps(original)
    async def prepare(*args: Any, **kwargs: Any) -> Any:
        link = getattr(args[0], _active.LINK, None)
        if link is None or link.call is not None or link.plans.active is not _active.active:
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


def _failed_to_prepare(link: Link, args: Any, start_ns: int, error: BaseException) -> None:
    try:
        text = args[2] if len(args) > _BEFORE_PARAMETERS else None
        call = begin(link, link.plans.plan(text, CURSOR), start_ns)
    except Exception as fault:
        faults.report(_PLACE, fault)
    else:
        if call is not None:
            fail(link, call, error)
