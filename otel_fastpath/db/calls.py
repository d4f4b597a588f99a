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
from otel_fastpath.db.not_begun import enter_untold, otherwise
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries.parameters import has_any
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import call_guarded, call_guarded_during

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otel_fastpath.db.database import Database

    # What a query is begun with: the connection's link, the plan, when it began (in nanoseconds since the epoch; None:
    # now), the parameters, which become attributes if that option is set, and the number of parameter sets of a batch.
    # Without a plan, it is begun without telemetry.
    Opening = tuple[Any, Any, int | None, Any, int | None]
    # Returns that for the arguments of the host's method; it begins nothing, so that it can fail at any point.
    Opener = Callable[[Any, Any], Opening]
    # The number of rows in a result; None: it is not known.
    Rows = Callable[[Any, Any], int | None] | None

# For a batch whose parameter sets cannot be counted without consuming them.
UNKNOWN: Final = -1
# As their subclasses have it, too, such as named tuples.
_LENGTHS: Final = frozenset(kind.__len__ for kind in (list, tuple, dict, set, frozenset, deque))
# Sizes of batches that are no attribute.
_NOT_TOLD: Final = frozenset({UNKNOWN, 1})
# For methods that return no rows.
no_rows: Final = None
# The arguments before a query's parameters: `self` and the text.
_BEFORE_PARAMETERS: Final = 2
# The name of the text's parameter, as in `entering.Connections`.
_TEXT_NAMES: Final = ("query",)


class ByOpener:
    """An entrance, see `Database.entrance`, of methods whose query an opener finds.

    Args:
        database: The library's `Database`.
        opener: Returns what the query is begun with, given the arguments of the host's method.
    """

    __slots__ = ("_database", "_opener")

    def __init__(self, database: Database, opener: Opener) -> None:
        self._database = database
        self._opener = opener

    def new(self) -> Any:
        """Make a query that has not begun."""
        return self._database.new_query()

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        """Begin a query; see `entering.Connections.enter`."""
        has_begun = enter(call, self._database, self._opener, args, kwargs)
        if has_begun and self._database.is_curious:
            call.has_more = True
            return False
        return has_begun


def enter(call: Any, database: Database, opener: Opener, args: Any, kwargs: Any) -> bool:
    """Begin a query that `Database.new_query` made; returns whether it is instrumented."""
    has_begun = False
    try:
        active = database.active
        if active is None:
            return False
        if active.replacements.exist():
            call.has_more = True
            return False
        link, plan, start_ns, parameters, size = opener(args, kwargs)
        if plan is not None:
            active = link.active
            call_span = active.hot
            has_begun = not call_span.is_suppressed() and call_span.open_query(call, link, plan, 0, start_ns)
            if has_begun and call.recording and (size is not None or (active.reads_parameters and has_any(parameters))):
                call_guarded_during(call, database.place, tell, call, link, parameters, size)
            return has_begun
    except Exception as fault:
        faults.absorb_any(database.place, fault)
        if has_begun:
            return True
    # It has no plan, or could not be begun because of a fault of ours.
    return bool(call_guarded(database.place, enter_untold, call, database, args))


def tell(call: Any, link: Any, parameters: Any, size: int | None) -> None:
    """Set a recording query's attributes for its batch size and, if that option is set, its parameters.

    With the option `slow`, the parameters are kept until the query ends.

    Args:
        call: The query.
        link: The connection's `Link`.
        parameters: The query's parameters, or a batch's arguments after the text; None: they are not recorded.
        size: The number of parameter sets of a batch, or UNKNOWN; None: it is not a batch.
    """
    if size is not None and size not in _NOT_TOLD and not link.active.is_same:
        call.span.set_attribute("db.operation.batch.size", size)
    if call.is_timed and size is None:
        call.parameters = parameters
    if parameters is not None and link.active.captures:
        made = link.active.convention.parameters if size is None else link.active.convention.batch_parameters
        call.span.set_attributes(made(parameters))


def all_rows(_call: Any, result: Any) -> int | None:
    """The number of rows for a method that returns a list of rows; one that is replaced may return None."""
    return None if result is None else len(result)


def one_row(_call: Any, result: Any) -> int | None:
    """The number of rows for a method that returns a row or None."""
    return 0 if result is None else 1


def one_value(_call: Any, result: Any) -> int | None:
    """The number of rows for a method that returns a value of a row; None may be such a value."""
    return None if result is None else 1


def _count(rows: Callable[[Any, Any], int | None], call: Any, result: Any) -> None:
    number = rows(call, result)
    if number is not None:
        call.record_rows(number)


async def watch(
    database: Database,
    opener: Opener,
    rows: Rows,
    args: Any,
    kwargs: Any,
    coroutine: Coroutine[Any, Any, Any],
    closing: Any = None,
) -> Any:
    """Await the host's coroutine inside a call.

    Args:
        database: The library's `Database`.
        opener: Returns what the call is begun with, given the arguments of the host's method.
        rows: Returns the number of rows in the result.
        args: The method's arguments.
        kwargs: The method's keyword arguments.
        coroutine: The coroutine that it returned.
        closing: Its `entering.Closing`, if it was made before this one starts.
    """
    call = database.new_query()
    try:
        if closing is not None:
            closing.start()
        if not enter(call, database, opener, args, kwargs):
            if not call.has_more:
                return await coroutine
            return await otherwise(database, call, args, coroutine)(*args, **kwargs)
        result = await coroutine
        if rows is not None:
            call_guarded_during(call, database.place, _count, rows, call, result)
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
    entrance = database.of_connections(rows)

    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        call = entrance.new()
        try:
            if not entrance.enter(call, args, kwargs):
                if not call.has_more:
                    return await original(*args, **kwargs)
                if call.link is None:
                    return await otherwise(database, call, args, original)(*args, **kwargs)
                args, kwargs = look(database, call, args, kwargs)
            result = await original(*args, **kwargs)
            call.done(result)
        except BaseException as error:
            try:
                call.end_failed(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        return result

    return method


def look(database: Database, call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Apply the options: set parameters as attributes, add the trace context as a comment."""
    if call.recording:
        call_guarded_during(call, database.place, tell, call, call.link, args[_BEFORE_PARAMETERS:], None)
    return call_guarded_during(call, database.place, _commented, call, args, kwargs) or (args, kwargs)


def _commented(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    return comments.commented(args, kwargs, _TEXT_NAMES) if call.link.active.options.sqlcommenter else (args, kwargs)


def around(database: Database, opener: Opener, rows: Rows, original: Any) -> Any:
    """Wrap a method that is either `async def`, or a function that raises at once or returns a coroutine."""
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def method(*args: Any, **kwargs: Any) -> Any:
            return await watch(database, opener, rows, args, kwargs, original(*args, **kwargs))

    else:
        closing = hot.db_entering.Closing
        # `watch` under the method's name, which the coroutine has in warnings and in the names of tasks.
        copied = FunctionType(watch.__code__, watch.__globals__, argdefs=watch.__defaults__)
        named = functools.update_wrapper(copied, original)

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            coroutine = original(*args, **kwargs)
            return named(database, opener, rows, args, kwargs, coroutine, closing(coroutine))

    return method


def around_sync(database: Database, opener: Opener, rows: Rows, original: Any) -> Any:
    """Wrap a method that returns when the query has been executed."""

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        call = database.new_query()
        try:
            if not enter(call, database, opener, args, kwargs):
                if not call.has_more:
                    return original(*args, **kwargs)
                return otherwise(database, call, args, original)(*args, **kwargs)
            result = original(*args, **kwargs)
            if rows is not None:
                call_guarded_during(call, database.place, _count, rows, call, result)
            call.done(result)
        except BaseException as error:
            try:
                call.end_failed(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        return result

    return method


def around_steps(begin: Any, done: Any, failed: Any, original: Any) -> Any:
    """Wrap a method, `async def` or not, in three functions, which raise only what interrupts them.

    Args:
        begin: Called with an empty list, the method's arguments and its keyword arguments. It adds what has to be ended
            to the list before it begins it.
        done: Called with the list, the method's arguments, and its result.
        failed: Called with the list, the method's arguments, and what was raised; also where `begin` or `done` was
            interrupted, and a second time if it was interrupted itself.
        original: The method.
    """
    wrap = around_async_steps if inspect.iscoroutinefunction(original) else _around_sync_steps
    return wrap(begin, done, failed, original)


def around_async_steps(begin: Any, done: Any, failed: Any, original: Any) -> Any:
    """The same for a method whose result is awaited."""

    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        begun: list[Any] = []
        try:
            begin(begun, args, kwargs)
            result = await original(*args, **kwargs)
            done(begun, args, result)
        except BaseException as error:
            try:
                failed(begun, args, error)
            except BaseException:
                # Interrupted, may be at its beginning.
                failed(begun, args, error)
                raise
            raise
        return result

    return method


def _around_sync_steps(begin: Any, done: Any, failed: Any, original: Any) -> Any:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        begun: list[Any] = []
        try:
            begin(begun, args, kwargs)
            result = original(*args, **kwargs)
            done(begun, args, result)
        except BaseException as error:
            try:
                failed(begun, args, error)
            except BaseException:
                # Interrupted, may be at its beginning.
                failed(begun, args, error)
                raise
            raise
        return result

    return method


def query(link: Any, text: Any, parameters: Any = None) -> Opening:
    """Open a call with one query.

    Args:
        link: The connection's `Link`.
        text: The query's text.
        parameters: Its parameters; None: none were passed.
    """
    return link, link.plans.plan(text, "", parameters is not None), None, parameters, None


def _size(value: Any) -> int | None:
    """The length of a container of Python's own; None: of others, `len` may load everything, or raise."""
    return len(value) if getattr(type(value), "__len__", None) in _LENGTHS else None


def batch(link: Any, text: Any, sets: Any, given: Any) -> Opening:
    """Open a call with several sets of parameters.

    Args:
        link: The connection's `Link`.
        text: The query's text.
        sets: The sets of parameters.
        given: What the caller passed after the text, by position.
    """
    size = _size(sets)
    # Sets that can be iterated only once are not read.
    has_arguments = isinstance(sets, (list, tuple)) and bool(size) and bool(_size(sets[0]))
    plan = link.plans.plan(text, "" if size == 1 else BATCH, has_arguments)
    return link, plan, None, given, UNKNOWN if size is None else size
