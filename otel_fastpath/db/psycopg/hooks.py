"""Wrappers of the methods of cursors that execute a query: the shortest path, taken by most calls.

psycopg's own methods return once the result is there, except in a pipeline: there, `pipelines` ends the call.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db import calls, not_begun
from otel_fastpath.db.dbapi.stock import is_by_stock
from otel_fastpath.db.psycopg import pipelines, texts
from otel_fastpath.db.psycopg.plans import DATABASE, LINK, text_of
from otel_fastpath.db.queries.parameters import has_any
from otel_fastpath.patching.outcome import call_guarded, call_guarded_during

if TYPE_CHECKING:
    from otel_fastpath.db.calls import Opening

# self and the query
_BEFORE_PARAMETERS: Final = 2


def query_of(args: Any, kwargs: Any) -> Any:
    """The query among the arguments of a cursor's method."""
    return args[1] if len(args) > 1 else kwargs.get("query")


def parameters_of(args: Any, kwargs: Any) -> Any:
    """Its parameters; None: there are none."""
    return args[_BEFORE_PARAMETERS] if len(args) > _BEFORE_PARAMETERS else kwargs.get("params")


def has_values(query: Any, parameters: Any) -> bool:
    """Whether the values of a query are passed beside its text."""
    return has_any(parameters) or bool(getattr(query, "interpolations", False))


def is_async(original: Any) -> bool:
    """Whether a method is `async def`."""
    return inspect.iscoroutinefunction(original)


def _of_cursors(active: Any) -> Any:
    """Make the function that begins the query of `execute`, for this set-up."""
    entering = hot.db_entering
    names = "_conn", LINK, "query", "params"
    return entering.Cursors(active, DATABASE, *names, text_of).enter


def around_execute(original: Any) -> Any:
    """Wrap `execute` of a cursor."""
    around = _around_async if is_async(original) else _around
    return around(DATABASE.entrance("execute", _of_cursors), _apply_options, _rows, original)


def around_executemany(original: Any) -> Any:
    """Wrap `executemany` of a cursor."""
    around = _around_async if is_async(original) else _around
    return around(calls.ByOpener(DATABASE, of_batch), _commented, _batch_rows, original)


def _around(entrance: Any, look: Any, rows: Any, original: Any) -> Any:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        ending = call = entrance.new()
        try:
            if not entrance.enter(call, args, kwargs):
                if not call.has_more:
                    return original(*args, **kwargs)
                if call.link is None:
                    return not_begun.otherwise(DATABASE, call, args, original)(*args, **kwargs)
                args, kwargs = call_guarded_during(call, DATABASE.place, look, call, args, kwargs) or (args, kwargs)
            pipeline = args[0]._conn._pipeline
            if pipeline is not None:
                ending = pipelines.submission(pipeline, call, args[0])
            result = original(*args, **kwargs)
            if pipeline is None and (call.plan.rows is not None or call.link.active.options.rows):
                call_guarded_during(call, DATABASE.place, rows, call, args[0])
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


def _around_async(entrance: Any, look: Any, rows: Any, original: Any) -> Any:
    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        ending = call = entrance.new()
        try:
            if not entrance.enter(call, args, kwargs):
                if not call.has_more:
                    return await original(*args, **kwargs)
                if call.link is None:
                    return await not_begun.otherwise(DATABASE, call, args, original)(*args, **kwargs)
                args, kwargs = call_guarded_during(call, DATABASE.place, look, call, args, kwargs) or (args, kwargs)
            pipeline = args[0]._conn._pipeline
            if pipeline is not None:
                ending = pipelines.submission(pipeline, call, args[0])
            result = await original(*args, **kwargs)
            if pipeline is None and (call.plan.rows is not None or call.link.active.options.rows):
                call_guarded_during(call, DATABASE.place, rows, call, args[0])
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


def of_batch(args: Any, kwargs: Any) -> Opening:
    """Open a call of `executemany`."""
    connection = args[0]._conn
    link = DATABASE.link(connection)
    sets = args[_BEFORE_PARAMETERS] if len(args) > _BEFORE_PARAMETERS else kwargs.get("params_seq")
    return calls.batch(link, text_of(query_of(args, kwargs), link, connection), sets, sets)


def _rows(call: Any, cursor: Any) -> None:
    """Record the rows of the cursor's results; those of the stock instrumentation include rows that were changed."""
    number = cursor.rowcount if call.link.active.is_same else pipelines.rows_of(cursor._results)
    if number is not None and number >= 0:
        call.record_rows(number)


def _batch_rows(call: Any, cursor: Any) -> None:
    if cursor._results or call.link.active.is_same:
        _rows(call, cursor)


def _apply_options(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Apply the options to a query: set parameters as attributes, add a comment."""
    parameters = parameters_of(args, kwargs)
    if call.recording and parameters is not None:
        call_guarded(DATABASE.place, calls.tell, call, call.link, parameters, None)
    return _commented(call, args, kwargs)


def _commented(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Add the comment that the options ask for, or that of the stock instrumentation."""
    active = call.link.active
    if not active.comments:
        return args, kwargs
    query = query_of(args, kwargs)
    if active.convention.comments:
        made = active.convention.commented(call, query, args[0]) if call.recording else query
    else:
        has_parameters = "params_seq" in kwargs or parameters_of(args, kwargs) is not None
        made = texts.commented(query, args[0], has_parameters=has_parameters)
    return ((args[0], made, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "query": made})


def make_untraced(original: Any) -> Any:
    """Wrap the stock instrumentation's own wrapper of a cursor's methods, which calls ours."""

    @functools.wraps(original)
    def traced_execution(*args: Any, **kwargs: Any) -> Any:
        if DATABASE.active is None or is_by_stock(args):
            return original(*args, **kwargs)
        _, _, method, *rest = args
        return method(*rest, **kwargs)

    return traced_execution


def make_untraced_async(original: Any) -> Any:
    """Likewise, for cursors of asynchronous connections."""

    @functools.wraps(original)
    async def traced_execution_async(*args: Any, **kwargs: Any) -> Any:
        if DATABASE.active is None or is_by_stock(args):
            return await original(*args, **kwargs)
        _, _, method, *rest = args
        return await method(*rest, **kwargs)

    return traced_execution_async
