"""Wrappers of the methods of a database library that send a query to the server.

For each of its methods, a library declares how to find the query in the arguments (an `Opener`) and the number of rows
in the result (`Rows`). Everything else is here.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db.conventions import BATCH
from otel_fastpath.db.not_begun import otherwise
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as query_parameters
from otel_fastpath.db.queries.parameters import UNKNOWN
from otel_fastpath.patching.outcome import call_guarded_during

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otel_fastpath.db.database import Database

    # What a query is begun with: the connection's plan, the plan, when it began (in nanoseconds since the epoch; None:
    # now), the parameters, which become attributes if that option is set, and the number of parameter sets of a batch.
    # Without a plan, it is begun without telemetry.
    Opening = tuple[Any, Any, int | None, Any, int | None]
    # Returns that for the arguments of the host's method, or None if it sends nothing, or nothing that is instrumented;
    # it begins nothing, so that it can fail at any point.
    Opener = Callable[[Any, Any], Opening | None]
    # The number of rows in a result; None: it is not known.
    Rows = Callable[[Any, Any], int | None] | None

# As their subclasses have it, too, such as named tuples.
_LENGTHS: Final = frozenset(kind.__len__ for kind in (list, tuple, dict, set, frozenset, deque))
# For methods that return no rows.
no_rows: Final = None
# The arguments before a query's parameters: `self` and the text.
_BEFORE_PARAMETERS: Final = 2
# The name of the text's parameter, as in `entering.Connections`.
_TEXT_NAMES: Final = ("query",)


def all_rows(_call: Any, result: Any) -> int | None:
    """The number of rows for a method that returns a list of rows; one that is replaced may return None."""
    return None if result is None else len(result)


def one_row(_call: Any, result: Any) -> int | None:
    """The number of rows for a method that returns a row or None."""
    return 0 if result is None else 1


def one_value(_call: Any, result: Any) -> int | None:
    """The number of rows for a method that returns a value of a row; None may be such a value."""
    return None if result is None else 1


def _count(rows: Callable[[Any, Any], int | None], call: Any, _args: Any, result: Any) -> None:
    number = rows(call, result)
    if number is not None:
        call.record_rows(number)


async def watch(
    database: Database,
    entrance: Any,
    rows: Rows,
    args: Any,
    kwargs: Any,
    coroutine: Coroutine[Any, Any, Any],
    closing: Any = None,
) -> Any:
    """Await the host's coroutine inside a call.

    Args:
        database: The library's `Database`.
        entrance: Its `new` makes the call, and its `enter` begins it; see `Database.of_opener`.
        rows: Returns the number of rows in the result.
        args: The method's arguments.
        kwargs: The method's keyword arguments.
        coroutine: The coroutine that it returned.
        closing: Its `entering.Closing`, if it was made before this one starts.
    """
    call = entrance.new()
    try:
        if closing is not None:
            closing.start()
        if not entrance.enter(call, args, kwargs):
            if not call.has_more:
                return await coroutine
            return await otherwise(database, call, args, coroutine)(*args, **kwargs)
        result = await coroutine
        if rows is not None:
            call_guarded_during(call, database.place, _count, rows, call, args, result)
        call.done(result)
    except BaseException as error:
        try:
            # It may not have started yet.
            coroutine.close()
            call.end_failed(error)
        finally:
            # See `wrapping.call`: the first may have been interrupted.
            call.end_failed(error)
        raise
    return result


def around_query(database: Database, rows: str, original: Any) -> Any:
    """Wrap an `async def` method of a connection that executes one query: the shortest path, taken by most calls.

    Args:
        database: The library's `Database`.
        rows: How the rows of its result are counted: the name of one of the constants in `wrapping.call_span`.
        original: The method; its parameters are `query` and then the parameters of the query.
    """
    return around_entrance(database, database.of_connections(rows), original, functools.partial(look, database))


def unchanged(_call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a method that the options do not change."""
    return args, kwargs


def around_entrance(
    database: Database, entrance: Any, original: Any, apply: Any = unchanged, count: Any = None, during: Any = None
) -> Any:
    """Wrap a method, `async def` or not, that executes a query.

    Args:
        database: The library's `Database`.
        entrance: Its `enter` begins the call that its `new` made, unless that is None; see `database.Entrance`.
        original: The method.
        apply: Called with the call and the arguments if the options need it; returns the arguments.
        count: Called with the call, the arguments and the result if its rows are recorded.
        during: Called with the call and the arguments; returns what ends the call instead of itself.
    """
    wrap = _around_async if inspect.iscoroutinefunction(original) else _around
    return wrap(database, entrance, original, apply, count, during)


def _around(database: Database, entrance: Any, original: Any, apply: Any, count: Any, during: Any) -> Any:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        ending = call = entrance.new()
        if call is None:
            return original(*args, **kwargs)
        try:
            if not entrance.enter(call, args, kwargs):
                if not call.has_more:
                    return original(*args, **kwargs)
                if call.connection_plan is None:
                    return otherwise(database, call, args, original)(*args, **kwargs)
                args, kwargs = call_guarded_during(call, database.place, apply, call, args, kwargs) or (args, kwargs)
            if during is not None:
                ending = during(call, args)
            result = original(*args, **kwargs)
            if (
                count is not None
                and ending is call
                and (call.plan.rows is not None or call.connection_plan.active.options.rows)
            ):
                call_guarded_during(call, database.place, count, call, args, result)
            ending.done(result)
        except BaseException as error:
            try:
                ending.end_failed(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                ending.end_failed(error)
            raise
        return result

    return method


def _around_async(database: Database, entrance: Any, original: Any, apply: Any, count: Any, during: Any) -> Any:
    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        ending = call = entrance.new()
        if call is None:
            return await original(*args, **kwargs)
        try:
            if not entrance.enter(call, args, kwargs):
                if not call.has_more:
                    return await original(*args, **kwargs)
                if call.connection_plan is None:
                    return await otherwise(database, call, args, original)(*args, **kwargs)
                args, kwargs = call_guarded_during(call, database.place, apply, call, args, kwargs) or (args, kwargs)
            if during is not None:
                ending = during(call, args)
            result = await original(*args, **kwargs)
            if (
                count is not None
                and ending is call
                and (call.plan.rows is not None or call.connection_plan.active.options.rows)
            ):
                call_guarded_during(call, database.place, count, call, args, result)
            ending.done(result)
        except BaseException as error:
            try:
                ending.end_failed(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                ending.end_failed(error)
            raise
        return result

    return method


def look(database: Database, call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Apply the options: set parameters as attributes, add the trace context as a comment."""
    if call.recording:
        put, given = query_parameters.put_parameters, args[_BEFORE_PARAMETERS:]
        call_guarded_during(call, database.place, put, call, call.connection_plan, given, None)
    return call_guarded_during(call, database.place, _commented, call, args, kwargs) or (args, kwargs)


def _commented(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    if not call.connection_plan.active.options.sqlcommenter:
        return args, kwargs
    return comments.add_comment(args, kwargs, _TEXT_NAMES)


def around(database: Database, opener: Opener, rows: Rows, original: Any) -> Any:
    """Wrap a method that is either `async def`, or a function that raises at once or returns a coroutine."""
    entrance = database.of_opener(opener, is_curious=False)
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def method(*args: Any, **kwargs: Any) -> Any:
            return await watch(database, entrance, rows, args, kwargs, original(*args, **kwargs))

    else:
        closing = hot.db_entering.Closing
        # `watch` under the method's name, which the coroutine has in warnings and in the names of tasks.
        copied = FunctionType(watch.__code__, watch.__globals__, argdefs=watch.__defaults__)
        named = functools.update_wrapper(copied, original)

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            coroutine = original(*args, **kwargs)
            return named(database, entrance, rows, args, kwargs, coroutine, closing(coroutine))

    return method


def around_sync(database: Database, opener: Opener, rows: Rows, original: Any) -> Any:
    """Wrap a method that returns when the query has been executed."""
    count = None if rows is None else functools.partial(_count, rows)
    return around_entrance(database, database.of_opener(opener), original, count=count)


def always(command: str) -> Callable[..., str]:
    """Returns the `command` of `around_command` for a method that sends the same one whenever it is called."""
    return lambda *_args, **_kwargs: command


def around_command(database: Database, command: Callable[..., str | None], original: Any, during: Any = None) -> Any:
    """Wrap a method of a connection that begins or ends a transaction, or sets a mark in it.

    Args:
        database: The library's `Database`.
        command: Returns the command that the method sends, given its arguments; None: it sends none.
        original: The method.
        during: See `around_entrance`.
    """

    def open_command(args: Any, kwargs: Any) -> Opening | None:
        active = database.active
        text = command(*args, **kwargs) if active.options.transactions and not active.is_same else None
        if text is None:
            return None
        connection_plan = database.connection_plan(database.connection_of(args[0]))
        return connection_plan, connection_plan.queries.get(text) or connection_plan.plans.plan(text), None, None, None

    return around_entrance(database, database.of_opener(open_command), original, during=during)


def query(connection_plan: Any, text: Any, parameters: Any = None) -> Opening:
    """Open a call with one query."""
    return connection_plan, connection_plan.plans.plan(text, "", parameters is not None), None, parameters, None


def _size(value: Any) -> int | None:
    """The length of a container of Python's own; None: of others, `len` may load everything, or raise."""
    return len(value) if getattr(type(value), "__len__", None) in _LENGTHS else None


def batch(connection_plan: Any, text: Any, sets: Any, given: Any) -> Opening:
    """Open a call with several sets of parameters.

    Args:
        connection_plan: The connection's `ConnectionPlan`.
        text: The query's text.
        sets: The sets of parameters.
        given: What the caller passed after the text, by position.
    """
    size = _size(sets)
    # Sets that can be iterated only once are not read.
    has_arguments = isinstance(sets, (list, tuple)) and bool(size) and bool(_size(sets[0]))
    plan = connection_plan.plans.plan(text, "" if size == 1 else BATCH, has_arguments)
    return connection_plan, plan, None, given, UNKNOWN if size is None else size
