"""Wrappers of the methods of psycopg2's cursors.

psycopg2's own methods return once the result is there, except on an asynchronous connection: there, `poll`
ends the call.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.helpers import drop_finalizer
from otel_fastpath.db import call_wrappers, cursors
from otel_fastpath.db.conventions import CURSOR
from otel_fastpath.db.dbapi import procedures
from otel_fastpath.db.dbapi.stock_telemetry import is_by_stock
from otel_fastpath.db.derived import Derived, is_derived
from otel_fastpath.db.psycopg2.query_plans import CONNECTION_PLAN, DATABASE, DRIVER
from otel_fastpath.db.queries.parameters import has_any
from otel_fastpath.patching.outcome import call_guarded, call_guarded_during

if TYPE_CHECKING:
    from otel_fastpath.db.call_wrappers import Opening

# The position of the table among the arguments of copy_from and copy_to.
_TABLE: Final = 2
# That of the sets of parameters among the arguments of execute_batch and execute_values.
_SETS: Final = 2
# Where an asynchronous connection stores its `PolledCall`.
PENDING: Final = "_otel_fastpath_pending"
# psycopg2.extensions.POLL_OK
_DONE: Final = 0


def _of_copy(args: Any, kwargs: Any) -> Opening:
    """Open `copy_expert`."""
    text = args[1] if len(args) > 1 else kwargs.get("sql")
    return _beyond(
        args[0],
        lambda connection_plan: connection_plan.plans.plan(DRIVER.text(text, connection_plan, args[0].connection)),
    )


def _of_copied(direction: str, args: Any, kwargs: Any) -> Opening:
    """Open `copy_from` or `copy_to`, which make their own text."""
    table = str(args[_TABLE] if len(args) > _TABLE else kwargs.get("table"))
    quoted = '"{}"'.format(table.replace('"', '""'))
    return _beyond(args[0], lambda connection_plan: connection_plan.plans.plan(f"COPY {quoted} {direction}"))


def _beyond(cursor: Any, plan: Any) -> Opening:
    """Open what the stock instrumentation does not see."""
    connection_plan = DATABASE.connection_plan(cursor.connection)
    # Without a plan, there is no span, and neither for what is executed inside.
    return connection_plan, None if connection_plan.active.is_same else plan(connection_plan), None, None, None


def _of_declaration(args: Any, kwargs: Any) -> Opening:
    """Open the declaration of a named cursor."""
    connection = args[0].connection
    connection_plan = DATABASE.connection_plan(connection)
    text = DRIVER.text(DRIVER.query_of(args, kwargs), connection_plan, connection)
    parameters = DRIVER.parameters_of(args, kwargs)
    # For the round trips that fetch its rows.
    setattr(args[0], CONNECTION_PLAN, (text, has_any(parameters)))
    return connection_plan, connection_plan.plans.plan(text, CURSOR, has_any(parameters)), None, parameters, None


def _of_trip(args: Any, _kwargs: Any) -> Opening:
    """Open a round trip of a named cursor."""
    declared = getattr(args[0], CONNECTION_PLAN, None)
    if declared is None:
        # It was declared while nothing was instrumented.
        return _beyond(
            args[0], lambda connection_plan: connection_plan.plans.special("FETCH", {"db.operation.name": "FETCH"})
        )
    text, has_arguments = declared
    return _beyond(args[0], lambda connection_plan: connection_plan.plans.plan(text, CURSOR, has_arguments))


def _of_pages(args: Any, kwargs: Any) -> Opening:
    """Open `execute_batch` or `execute_values`."""
    connection = args[0].connection
    connection_plan = DATABASE.connection_plan(connection)
    text = DRIVER.text(args[1] if len(args) > 1 else kwargs.get("sql"), connection_plan, connection)
    sets = args[_SETS] if len(args) > _SETS else kwargs.get("argslist")
    return call_wrappers.batch(connection_plan, text, sets, None)


def make_pages(original: Any) -> Any:
    """Wrap `execute_batch` or `execute_values`: the pages that they execute are part of the call."""
    wrapped = call_wrappers.around_sync(DATABASE, _of_pages, call_wrappers.all_rows, original)

    @functools.wraps(original)
    def execute_pages(*args: Any, **kwargs: Any) -> Any:
        is_unseen = call_guarded(DATABASE.place, _is_on_another, args)
        return original(*args, **kwargs) if is_unseen else wrapped(*args, **kwargs)

    return execute_pages


def _is_on_another(args: Any) -> bool:
    """Whether the cursor's connection is none of ours, so that its pages are not seen either."""
    return not args or not is_derived(type(getattr(args[0], "connection", None)))


def _around(opener: Any, original: Any) -> Any:
    """Wrap a method of a cursor, without a look at the options."""
    return cursors.around(DRIVER, DATABASE.of_opener(opener), original)


def _around_declaration(original: Any) -> Any:
    apply = functools.partial(cursors.apply_options, DRIVER)
    return cursors.around(DRIVER, DATABASE.of_opener(_of_declaration), original, apply=apply)


def _around_trip(rows: call_wrappers.Rows, original: Any) -> Any:
    """Wrap a method that fetches rows of a named cursor, or moves it."""
    return call_wrappers.around_sync(DATABASE, _of_trip, rows, original)


def _around_next(original: Any) -> Any:
    """Wrap the iteration of a named cursor: a round trip brings `itersize` rows, and the next ones cost nothing."""
    entrance = DATABASE.of_opener(_of_trip, is_curious=False)

    @functools.wraps(original)
    def following(self: Any) -> Any:
        if self.rownumber < self.rowcount:
            return original(self)
        call = entrance.new()
        is_begun = False
        try:
            is_begun = entrance.enter(call, (self,), {})
            row = original(self)
            if is_begun:
                call_guarded_during(call, DATABASE.place, call.record_rows, self.rowcount)
                call.done(None)
        except BaseException as error:
            try:
                if is_begun and isinstance(error, StopIteration):
                    call_guarded(DATABASE.place, call.record_rows, 0)
                    call.done(None)
            finally:
                try:
                    call.end_failed(error)
                finally:
                    # See `wrapping.call`: the first may have been interrupted.
                    call.end_failed(error)
            raise
        return row

    return following


def _submitting(entrance: Any, original: Any) -> Any:
    """Wrap a method of a cursor of an asynchronous connection, which only sends the query: `poll` ends the call."""
    apply = functools.partial(cursors.apply_options, DRIVER)
    return cursors.around(DRIVER, entrance, original, apply=apply, during=_Sent)


class _Sent:
    """Leaves a call when its method has returned: the application goes on."""

    __slots__ = ("_call", "_cursor", "end_failed")

    def __init__(self, call: Any, args: Any) -> None:
        self._call, self._cursor = call, args[0]
        self.end_failed = call.end_failed

    def done(self, result: Any) -> None:
        """Keep the call for `poll`, or end it if that fails."""
        if not call_guarded(DATABASE.place, _leave, self._call, self._cursor):
            self._call.done(result)


def _leave(call: Any, cursor: Any) -> bool:
    # The connection's next call is no part of this one.
    call.connection_plan.call = None
    call.leave()
    setattr(cursor.connection, PENDING, OpenPolledCall(call, cursor))
    return True


def make_poll(original: Any) -> Any:
    """Wrap `poll` of an asynchronous connection, which tells when it is connected or a query's result is there."""

    @functools.wraps(original)
    def poll(self: Any) -> Any:
        try:
            state = original(self)
            if state == _DONE:
                call_guarded(DATABASE.place, _end_pending, self, None)
        except BaseException as error:
            try:
                call_guarded(DATABASE.place, _end_pending, self, error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call_guarded(DATABASE.place, _end_pending, self, error)
            raise
        return state

    return poll


def make_close(original: Any) -> Any:
    """Wrap `close` of an asynchronous connection: what is under way has no result."""

    @functools.wraps(original)
    def close(self: Any) -> Any:
        result = original(self)
        try:
            call_guarded(DATABASE.place, _after_close, self)
        finally:
            # Likewise.
            call_guarded(DATABASE.place, _after_close, self)
        return result

    return close


def _after_close(connection: Any) -> None:
    _end_pending(connection, _lost())


def _lost() -> BaseException:
    """What there is instead of a result."""
    from psycopg2 import InterfaceError  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    error: BaseException = InterfaceError("the connection was closed before the result arrived")
    return error


class PolledCall:
    """A call that goes on.

    Args:
        call: The call.
        cursor: The cursor that its connection polls for; None: it connects, which is no query.
    """

    __slots__ = ("_call", "_cursor")

    def __init__(self, call: Any, cursor: Any) -> None:
        self._call, self._cursor = call, cursor

    def end(self, error: BaseException | None) -> None:
        """End it, with the exception that there is instead of a result."""
        call, cursor = self._call, self._cursor
        if cursor is None:
            call.end() if error is None else call.fail(error)
        elif error is not None:
            call.end_failed(error)
        else:
            call_guarded(DATABASE.place, cursors.count, call, (cursor,), None)
            call.done(None)
        drop_finalizer(self, PolledCall)


class OpenPolledCall(PolledCall):
    """One that has not ended; as `trace.context.scope.OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        """End it: its connection was let go of. An interrupt can come before the fields are set."""
        if hasattr(self, "_cursor"):
            call_guarded(DATABASE.place, self.end, _lost())


def _end_pending(connection: Any, error: BaseException | None) -> None:
    try:
        # PENDING
        pending = connection._otel_fastpath_pending
    except AttributeError:
        return
    if pending is not None:
        pending.end(error)
        setattr(connection, PENDING, None)


def make_untraced(original: Any) -> Any:
    """Wrap the stock instrumentation's own wrapper of a cursor's methods, which calls ours if the cursor is ours."""

    @functools.wraps(original)
    def traced_execution(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and is_derived(type(args[1])) and not is_by_stock(args):
            _, _, method, *rest = args
            return method(*rest, **kwargs)
        return original(*args, **kwargs)

    return traced_execution


_EXECUTED: Final = {
    "execute": functools.partial(cursors.around_execute, DRIVER),
    "executemany": functools.partial(cursors.around_executemany, DRIVER),
    "callproc": functools.partial(procedures.around, DRIVER),
}
_COPIED: Final = {
    "copy_expert": functools.partial(_around, _of_copy),
    "copy_from": functools.partial(_around, functools.partial(_of_copied, "FROM STDIN")),
    "copy_to": functools.partial(_around, functools.partial(_of_copied, "TO STDOUT")),
}
CURSORS: Final = Derived({**_EXECUTED, **_COPIED})
NAMED_CURSORS: Final = Derived(
    {
        "execute": _around_declaration,
        "fetchone": functools.partial(_around_trip, call_wrappers.one_row),
        "fetchmany": functools.partial(_around_trip, call_wrappers.all_rows),
        "fetchall": functools.partial(_around_trip, call_wrappers.all_rows),
        "scroll": functools.partial(_around_trip, call_wrappers.no_rows),
        "__next__": _around_next,
    },
    (CONNECTION_PLAN,),
)
ASYNC_CURSORS: Final = Derived(
    {
        "execute": functools.partial(_submitting, cursors.entrance_of(DRIVER)),
        "callproc": functools.partial(_submitting, DATABASE.of_opener(procedures.opener(DRIVER))),
    }
)
