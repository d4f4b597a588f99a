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

from otel_fastpath import compiled
from otel_fastpath.libraries.db import comments
from otel_fastpath.libraries.db.asyncpg import plans
from otel_fastpath.libraries.db.conventions import BATCH, CURSOR, PREPARE
from otel_fastpath.patching.outcome import guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    # What a query is begun with: the connection's link, the plan, when it began (in nanoseconds since the epoch; None:
    # now), the parameters that become attributes for those who asked, and of a batch the number of sets of them.
    Opening = tuple[Any, Any, int | None, Any, int | None]
    # Gives that for the arguments of the host's method; it begins nothing, so that it can fail at any point.
    Opener = Callable[[Any, Any], Opening]
    # What a result says of the number of rows.
    Rows = Callable[[Any, Any], int | None]

_PLACE: Final = "an asyncpg call"
# Of a batch whose sets of parameters are not counted without using them up.
UNKNOWN: Final = -1
# self and the query
_BEFORE_PARAMETERS: Final = 2


def link_of(connection: Any) -> Any:
    """The connection's link, made anew where the set-up is another."""
    link = getattr(getattr(connection, "_protocol", None), plans.LINK, None)
    return plans.link(connection) if link is None or link.active is not plans.active else link


def begin(opener: Opener, args: Any, kwargs: Any) -> Any:
    """Begin a query; None where nobody looks at it. Never raises."""
    begun = guarded(_PLACE, _begun, opener, args, kwargs)
    return guarded(_PLACE, _lost, args[0]) if begun is None else begun[0]


def _begun(opener: Opener, args: Any, kwargs: Any) -> tuple[Any]:
    """The query, or None, in a tuple."""
    link, plan, start_ns, parameters, size = opener(args, kwargs)
    hot = link.active.hot
    call = None if hot.is_suppressed() else hot.open_query(link, plan, 0, start_ns)
    if call is not None and call.recording and (size is not None or (parameters and link.active.captures)):
        guarded(_PLACE, _tell, call, link, parameters, size)
    return (call,)


def _lost(held: Any) -> Any:
    """A query of which nothing is told, in the place of one that could not be begun by a fault of ours.

    What asyncpg does for it on this connection is part of it, and no query of its own.

    Args:
        held: The connection, or a statement or cursor of one.
    """
    connection = held if hasattr(held, "_protocol") else getattr(held, "_connection", None)
    link = getattr(getattr(connection, "_protocol", None), plans.LINK, None)
    if link is None or link.call is not None:
        return None
    hot = link.active.hot
    call = hot.Query.__new__(hot.Query)
    # As a call that has ended.
    call._telemetry = call._token = call.series = None
    call.recording = call.is_held = False
    call.link, call.plan, call.kind = link, hot.Plan("", None, None, None, True), hot.NO_ROWS  # noqa: FBT003  # no keywords
    call.span = trace.get_current_span()
    link.call = call
    return call


def _tell(call: Any, link: Any, parameters: Any, size: int | None) -> None:
    if size is not None and size not in {UNKNOWN, 1}:
        call.span.set_attribute("db.operation.batch.size", size)
    if parameters is not None and link.active.captures:
        made = link.active.convention.parameters if size is None else link.active.convention.batch_parameters
        call.span.set_attributes(made(parameters))


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
        guarded(_PLACE, _tell, call, call.link, args[_BEFORE_PARAMETERS:], None)
    return guarded(_PLACE, _commented, call, args, kwargs) or (args, kwargs)


def _commented(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    return comments.commented(args, kwargs) if call.link.active.options.sqlcommenter else (args, kwargs)


@never_raises(_PLACE)
def _counted(rows: Rows, call: Any, result: Any) -> None:
    number = rows(call, result)
    if number is not None:
        call.told(number)


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
    # As `begin`, without the way to it.
    begun = guarded(_PLACE, _begun, opener, args, kwargs)
    call = guarded(_PLACE, _lost, args[0]) if begun is None else begun[0]
    if call is None:
        return await coroutine
    try:
        result = await coroutine
    except BaseException as error:
        call.failed(error)
        raise
    if rows is not no_rows:
        _counted(rows, call, result)
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


def of_statement(args: Any, _kwargs: Any) -> Opening:
    """Open a call of a prepared statement."""
    link = link_of(args[0]._connection)
    return link, link.plans.plan(args[0]._query, "", len(args) > 1), None, args[1:], None


def explaining(args: Any, kwargs: Any) -> Opening:
    """Open a call of `PreparedStatement.explain`, with the text that it makes."""
    link = link_of(args[0]._connection)
    options = "FORMAT JSON, VERBOSE, ANALYZE" if kwargs.get("analyze") else "FORMAT JSON, VERBOSE"
    return link, link.plans.plan(f"EXPLAIN ({options}) {args[0]._query}"), None, None, None


def batch(link: Any, text: Any, sets: Any, given: Any) -> Opening:
    """Open a call with several sets of parameters.

    Args:
        link: The connection's.
        text: The query's.
        sets: The sets of parameters.
        given: What the caller passed after the text, by position.
    """
    size = len(sets) if isinstance(sets, Sized) else None
    # Sets that can be gone through only once are not looked into.
    has_arguments = isinstance(sets, (list, tuple)) and size != 0 and isinstance(sets[0], Sized) and len(sets[0]) > 0
    plan = link.plans.plan(text, "" if size == 1 else BATCH, has_arguments)
    return link, plan, None, given, UNKNOWN if size is None else size


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
            call = begin(_failed_to_prepare, (link, args, start_ns), None)
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
