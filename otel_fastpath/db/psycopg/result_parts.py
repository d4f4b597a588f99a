"""What reads a result in parts: streams, COPY, and the round trips of server-side cursors.

The application's own code runs between the parts, so the span is not the current one there.
"""

from __future__ import annotations

import functools
import weakref
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.conventions import CURSOR
from otel_fastpath.db.psycopg.query_plans import DATABASE, DRIVER
from otel_fastpath.db.queries.parameters import has_any
from otel_fastpath.patching.outcome import call_guarded_during, never_raises

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from otel_fastpath.db.call_wrappers import Opener, Opening

COPY_ROWS: Final = "psycopg.copy.rows"
# libpq's PGRES_COPY_OUT
_COPY_OUT: Final = 3
# Server-side cursor -> the text of its query, and whether it has parameters.
_declared: weakref.WeakKeyDictionary[Any, tuple[str, bool]] = weakref.WeakKeyDictionary()


def _read(args: Any, kwargs: Any) -> tuple[Any, str, Any, bool]:
    """The connection plan, the text, the parameters, and whether the values of the query are passed beside its text."""
    connection = args[0]._conn
    connection_plan = DATABASE.connection_plan(connection)
    query, parameters = DRIVER.query_of(args, kwargs), DRIVER.parameters_of(args, kwargs)
    has_values = has_any(parameters) or bool(getattr(query, "interpolations", False))
    return connection_plan, DRIVER.text(query, connection_plan, connection), parameters, has_values


def of_query(args: Any, kwargs: Any) -> Opening:
    """Open a call of a cursor's method with a query and its parameters."""
    connection_plan, text, parameters, has_values = _read(args, kwargs)
    return connection_plan, connection_plan.plans.plan(text, "", has_values), None, parameters, None


def of_copy(args: Any, kwargs: Any) -> Opening:
    """Open a COPY; its parameters are put in the text."""
    connection = args[0]._conn
    connection_plan = DATABASE.connection_plan(connection)
    statement = args[1] if len(args) > 1 else kwargs.get("statement")
    plan = connection_plan.plans.plan(DRIVER.text(statement, connection_plan, connection))
    return connection_plan, plan, None, None, None


def of_declaration(args: Any, kwargs: Any) -> Opening:
    """Open the declaration of a server-side cursor."""
    connection_plan, text, parameters, has_values = _read(args, kwargs)
    _declared[args[0]] = (text, has_values)
    return connection_plan, connection_plan.plans.plan(text, CURSOR, has_values), None, parameters, None


def of_trip(args: Any, _kwargs: Any) -> Opening:
    """Open a round trip of a server-side cursor."""
    connection_plan = DATABASE.connection_plan(args[0]._conn)
    declared = _declared.get(args[0])
    if declared is None:
        # Declared by other code, or before this wrapper was there.
        return connection_plan, connection_plan.plans.special("FETCH", {"db.operation.name": "FETCH"}), None, None, None
    text, has_arguments = declared
    return connection_plan, connection_plan.plans.plan(text, CURSOR, has_arguments), None, None, None


def _record_rows(call: Any, result: Any) -> None:
    if isinstance(result, list):
        call.record_rows(len(result))


@never_raises(DATABASE.place)
def _leave(call: Any) -> None:
    """Leave a call's context: the application goes on, and the connection's next call is no part of this one."""
    if call.connection_plan.call is call:
        call.connection_plan.call = None
    call.leave()


def make_trip(original: Any) -> Any:
    """Wrap psycopg's generator of a round trip, which every way to fetch rows or to scroll runs."""
    return _around_generator(of_trip, original, leaves=False)


def make_stream(original: Any) -> Any:
    """Wrap `stream`, a generator of rows: its span begins with the first row and ends with the last."""
    return _around_generator(of_query, original, leaves=True)


def _around_generator(opener: Opener, original: Any, *, leaves: bool) -> Any:
    entrance = DATABASE.of_opener(opener, is_curious=False)

    @functools.wraps(original)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        call = entrance.new()
        try:
            if not entrance.enter(call, args, kwargs):
                return (yield from original(*args, **kwargs))
            if leaves:
                _leave(call)
            result = yield from original(*args, **kwargs)
            call_guarded_during(call, DATABASE.place, _record_rows, call, result)
            call.done(result)
        except BaseException as error:
            try:
                call.end_failed(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        return result

    return generate


def make_async_stream(original: Any) -> Any:
    """Wrap `AsyncCursor.stream`."""
    entrance = DATABASE.of_opener(of_query, is_curious=False)

    @functools.wraps(original)
    async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        rows_of_host = original(*args, **kwargs)
        call = entrance.new()
        try:
            is_begun = entrance.enter(call, args, kwargs)
            if is_begun:
                _leave(call)
            async for row in rows_of_host:
                yield row
            if is_begun:
                call.done(None)
        except BaseException as error:
            # Of psycopg, or of the application, which has closed this generator.
            try:
                await rows_of_host.aclose()
            finally:
                try:
                    call.end_failed(error)
                finally:
                    # See `wrapping.call`: the first may have been interrupted.
                    call.end_failed(error)
            raise

    return stream


def make_copy(original: Any) -> Any:
    """Wrap `copy`, a context manager: its span ends with the block."""
    return _around_copy(_copying, original)


def make_async_copy(original: Any) -> Any:
    """Wrap `AsyncCursor.copy`."""
    return _around_copy(_async_copying, original)


def _around_copy(copying: Any, original: Any) -> Any:
    entrance = DATABASE.of_opener(of_copy, is_curious=False)

    @functools.wraps(original)
    def copy(*args: Any, **kwargs: Any) -> Any:
        # psycopg's is made at once, which raises an error if the arguments are not those of `copy`.
        return copying(entrance, original(*args, **kwargs), args, kwargs)

    return copy


@contextmanager
def _copying(entrance: Any, copy_of_host: Any, args: Any, kwargs: Any) -> Generator[Any]:
    call = entrance.new()
    try:
        is_begun = entrance.enter(call, args, kwargs)
        with copy_of_host as made:
            if is_begun:
                _leave(call)
            yield made
        if is_begun:
            call_guarded_during(call, DATABASE.place, _count_copied, call, args[0])
            call.done(None)
    except BaseException as error:
        try:
            call.end_failed(error)
        finally:
            # See `wrapping.call`: the first may have been interrupted.
            call.end_failed(error)
        raise


@asynccontextmanager
async def _async_copying(entrance: Any, copy_of_host: Any, args: Any, kwargs: Any) -> AsyncGenerator[Any]:
    call = entrance.new()
    try:
        is_begun = entrance.enter(call, args, kwargs)
        async with copy_of_host as made:
            if is_begun:
                _leave(call)
            yield made
        if is_begun:
            call_guarded_during(call, DATABASE.place, _count_copied, call, args[0])
            call.done(None)
    except BaseException as error:
        try:
            call.end_failed(error)
        finally:
            # See `wrapping.call`: the first may have been interrupted.
            call.end_failed(error)
        raise


def _count_copied(call: Any, cursor: Any) -> None:
    """Tell the number of rows of a COPY."""
    number = cursor.rowcount
    if number >= 0:
        if call.recording:
            call.span.set_attribute(COPY_ROWS, number)
        if cursor.pgresult is not None and cursor.pgresult.status == _COPY_OUT:
            call.record_rows(number)
