"""Wrappers of the methods of SQLAlchemy's `Connection` that make the driver send something.

They are one level above the driver's cursor: there, the text is ready, with its lists expanded, and rows that
SQLAlchemy inserts with several statements (insertmanyvalues) are still one operation.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db import database
from otel_fastpath.db.conventions import BATCH
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as query_parameters
from otel_fastpath.db.server_attributes import Server, System
from otel_fastpath.db.sqlalchemy.engines import CONNECTION_PLAN, DATABASE
from otel_fastpath.db.sqlalchemy.stock_telemetry import StockConventions
from otel_fastpath.patching.outcome import call_guarded, call_guarded_during

if TYPE_CHECKING:
    from collections.abc import Callable

    # The engine's connection plan, the query's plan, the parameters, the number of parameter sets of a batch, and
    # SQLAlchemy's execution context, in which the text can still be changed; without the first: no instrumentation.
    Opening = tuple[Any, Any, Any, int | None, Any]

# The positions of the execution context, the statement and its parameters among the arguments.
_CONTEXT: Final = 2
_STATEMENT: Final = 2
_PARAMETERS: Final = 3
# The attribute of an engine with the set-up for which stock's code listens to it.
_LISTENED: Final = "_otel_fastpath_listened"
_NOTHING: Final = (None, None, None, None, None)
# The styles of parameters that a driver puts in with `%` (PEP 249).
_FORMATS: Final = frozenset({"format", "pyformat"})
# Drivers of these send a batch as one query only if nothing follows the values.
_MYSQL: Final = frozenset({"mysql", "mariadb"})


class ByEngineOpener:
    """An entrance, see `Database.entrance`, of methods whose call an opener finds.

    Args:
        opener: Returns what the call is begun with, given the arguments of the method; it begins nothing.
        leaves_to_drivers: Whether the option `drivers` leaves the call to the driver's wrapper.
    """

    __slots__ = ("_is_suppressed", "_leaves_to_drivers", "_open", "_opener")

    def __init__(self, opener: Callable[[Any, Any], Opening], *, leaves_to_drivers: bool = True) -> None:
        self._opener = opener
        self._leaves_to_drivers = leaves_to_drivers
        self._open = hot.db_outer.open_outer
        self._is_suppressed = hot.wrapping_call_span.is_suppressed

    def new(self) -> Any:
        """Make a call that has not begun."""
        return DATABASE.new_query()

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        """Begin a call; returns whether it is instrumented."""
        return bool(call_guarded(DATABASE.place, self._enter, call, args, kwargs))

    def _enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        active = DATABASE.active
        if active is None or self._is_suppressed() or active.replacements.exist():
            return False
        if active.options.drivers and self._leaves_to_drivers and is_recorded_by_driver(args[0]):
            return False
        connection_plan, plan, parameters, size, context = self._opener(args, kwargs)
        has_begun: bool = connection_plan is not None and self._open(call, connection_plan, plan, None)
        if has_begun and (size is not None or DATABASE.is_curious):
            call_guarded_during(call, DATABASE.place, _put_parameters, call, args[0], parameters, size, context)
        return has_begun


def around(opener: Callable[[Any, Any], Opening], original: Any) -> Any:
    """Wrap a method of a connection whose call an opener finds."""
    return _wrapped(ByEngineOpener(opener), original)


def around_ping(original: Any) -> Any:
    """Wrap a dialect's check of a connection, for which the driver has no span either, whatever the options say."""
    return _wrapped(ByEngineOpener(ping, leaves_to_drivers=False), original)


def around_execute(original: Any) -> Any:
    """Wrap the method that executes a statement with its parameters, once or with many sets of them."""

    def make(active: Any) -> Any:
        others = ByEngineOpener(single).enter
        return hot.db_outer.Statements(active, DATABASE, CONNECTION_PLAN, others).enter

    return _wrapped(DATABASE.entrance("execute", make), original)


def around_end(command: str, original: Any) -> Any:
    """Wrap a method that ends a transaction, with "COMMIT" or "ROLLBACK"."""

    def make(active: Any) -> Any:
        by_driver = is_recorded_by_driver if active.options.drivers else None
        return hot.db_outer.Transactions(active, DATABASE, CONNECTION_PLAN, command, by_driver).enter

    return _wrapped(DATABASE.entrance(command, make), original)


def _wrapped(entrance: Any, original: Any) -> Any:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        call = entrance.new()
        if call is None:
            return original(*args, **kwargs)
        try:
            if not entrance.enter(call, args, kwargs):
                active = DATABASE.active
                if active is not None and active.replacements.exist():
                    call_guarded(DATABASE.place, _listen, active, args[0])
                return original(*args, **kwargs)
            result = original(*args, **kwargs)
            # What a ping returns, whose call is quiet, has no rows.
            if result is not None and (
                call.series is not None or (call.connection_plan.active.options.rows and not call.plan.is_quiet)
            ):
                call_guarded_during(call, DATABASE.place, _count, call, result)
            call.done(None)
        except BaseException as error:
            try:
                call.end_failed(call_guarded(DATABASE.place, cause, error) or error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        return result

    return method


def _listen(active: Any, held: Any) -> None:
    """Let stock's code run for the engine of a connection, while one of its functions is replaced."""
    engine = getattr(held, "engine", None)
    if engine is not None and getattr(engine, _LISTENED, None) is not active:
        setattr(engine, _LISTENED, active)
        connection_plan = getattr(engine, CONNECTION_PLAN, None)
        known = connection_plan.plans.own if connection_plan is not None and connection_plan.active is active else None
        active.convention.listen(engine, lambda: DATABASE.active is active and active.replacements.exist(), known)


def is_recorded_by_driver(held: Any) -> bool:
    """Whether the driver of a connection or an engine has a wrapper of ours that is on."""
    return _has_our_driver(held.dialect)


def _has_our_driver(dialect: Any) -> bool:
    # A dialect that is made without a URL, such as a default one, has none.
    return database.is_active(getattr(dialect, "driver", ""))


def fail(call: Any, error: BaseException) -> None:
    """End a call that is no query, and raised this. Never raises."""
    call.fail(call_guarded(DATABASE.place, cause, error) or error)


def cause(error: BaseException) -> BaseException:
    """The driver's exception in SQLAlchemy's, whose message has the parameters of the query in it."""
    original = getattr(error, "orig", None)
    return original if isinstance(original, BaseException) else error


def _put_parameters(call: Any, connection: Any, parameters: Any, size: int | None, context: Any) -> None:
    if call.recording:
        query_parameters.put_parameters(call, call.connection_plan, parameters, size)
    if context is None or call.plan.is_quiet:
        return
    convention = call.connection_plan.plans.convention
    if isinstance(convention, StockConventions):
        if convention.comments and call.recording:
            convention.comment(call.span, connection, context)
    elif call.connection_plan.active.options.sqlcommenter:
        context.statement = _add_comment(context)


def _add_comment(context: Any) -> str:
    """The statement of an execution context with the current trace context as a comment."""
    dialect, statement = context.dialect, context.statement
    if context.executemany and dialect.name in _MYSQL:
        return statement  # type: ignore[no-any-return]  # a text
    # Without parameters, SQLAlchemy passes an empty set of them, unless this option is set.
    is_read = context.parameters[0] or not context.no_parameters
    return comments.with_comment(  # type: ignore[no-any-return]  # likewise
        statement, is_formatted=is_read and dialect.paramstyle in _FORMATS
    )


def _count(call: Any, result: Any) -> None:
    """Record the number of rows that were returned, if the driver knows it before they are fetched."""
    if not result.returns_rows:
        return
    context = result.context
    pages = getattr(context, "_insertmanyvalues_rows", None)
    number = context.cursor.rowcount if pages is None else len(pages)
    if isinstance(number, int) and number >= 0:
        call.record_rows(number)


def _connection_plan_of(connection: Any) -> Any:
    return hot.db_outer.connection_plan_of(DATABASE.active, DATABASE, CONNECTION_PLAN, connection)


def single(args: Any, kwargs: Any) -> Opening:
    """Open a statement that the driver executes once, or with many sets of parameters."""
    context = args[_CONTEXT] if len(args) > _CONTEXT else kwargs["context"]
    if context.executemany:
        return many(args, kwargs)
    connection_plan = _connection_plan_of(args[0])
    text, parameters = context.statement, context.parameters[0]
    plan = connection_plan.plans.plan(text, "", query_parameters.has_any(parameters))
    return connection_plan, plan, parameters, None, context


def many(args: Any, kwargs: Any) -> Opening:
    """Open a statement with many sets of parameters, whether the driver or SQLAlchemy divides them."""
    context = args[_CONTEXT] if len(args) > _CONTEXT else kwargs["context"]
    connection_plan = _connection_plan_of(args[0])
    sets = context.parameters
    size = len(sets)
    plan = connection_plan.plans.plan(context.statement, "" if size == 1 else BATCH, bool(sets and sets[0]))
    return connection_plan, plan, sets, size, context


def default(args: Any, kwargs: Any) -> Opening:
    """Open a statement that SQLAlchemy itself executes for a column's default, such as a sequence."""
    text = args[_STATEMENT] if len(args) > _STATEMENT else kwargs["statement"]
    parameters = args[_PARAMETERS] if len(args) > _PARAMETERS else kwargs["parameters"]
    connection_plan = _connection_plan_of(args[0])
    plan = connection_plan.plans.plan(text, "", query_parameters.has_any(parameters))
    return connection_plan, plan, parameters, None, None


def ping(args: Any, _kwargs: Any) -> Opening:
    """Open the check of a pool's connection (`pool_pre_ping`), for which the driver makes no span either."""
    dialect, active = args[0], DATABASE.active
    if not _has_our_driver(dialect):
        return _NOTHING
    connection_plan = getattr(dialect, CONNECTION_PLAN, None)
    if connection_plan is None or connection_plan.active is not active:
        connection_plan = active.connection_plan(active.plans_of(Server(System(dialect.name))))
        setattr(dialect, CONNECTION_PLAN, connection_plan)
    return connection_plan, connection_plan.plans.quiet, None, None, None
