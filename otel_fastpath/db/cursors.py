"""Wrappers of the methods of cursors of the DB-API (PEP 249) that execute a query, for drivers without `async def`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.compiled import hot
from otel_fastpath.db import call_wrappers
from otel_fastpath.db.conventions import plain
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as query_parameters
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.call_wrappers import Opening
    from otel_fastpath.db.database import Database, Entrance

# What a call is opened with that the driver refuses.
NOTHING: Final = (None, None, None, None, None)
# The attribute of a wrapper that is its `Database`: the stock instrumentation's proxies call the wrapper.
DATABASE_OF: Final = "_otel_fastpath_database"
# self and the query
_BEFORE_PARAMETERS: Final = 2
# A driver that does not know the number of rows may have this, or -1.
_MOST_ROWS: Final = 1 << 62


def _plain(query: Any, _connection_plan: Any, _connection: Any) -> Any:
    return plain(query)


def _appended(query: Any, _cursor: Any, _has_parameters: bool) -> Any:
    return comments.with_comment(query)


class Driver(NamedTuple):
    """What distinguishes the cursors of a driver.

    Attributes:
        database: Its `Database`.
        connection_plan: The attribute of a connection that stores its connection plan.
        query: The name of the parameter of `execute` that is the query.
        parameters: The name of the one for its parameters.
        sets: The name of the one for the sets of parameters of `executemany`.
        text_of: Returns the text of a query that is no plain `str`, given it, the connection plan and the connection.
        commented: Returns a query with the trace context as a comment, given the query, the cursor, and whether
            parameters are passed with it.
        connection: The attribute of a cursor with its connection, which is None if it is closed; empty: the methods are
            the connection's.
        comments_batches: Whether the query of a batch gets a comment, too.
    """

    database: Database
    connection_plan: str
    query: str
    parameters: str
    sets: str
    text_of: Callable[[Any, Any, Any], Any] = _plain
    commented: Callable[[Any, Any, bool], Any] = _appended
    connection: str = "connection"
    comments_batches: bool = True

    def connection_of(self, held: Any) -> Any:
        """The connection of the object that has the methods; None: it is closed."""
        return getattr(held, self.connection) if self.connection else held

    def query_of(self, args: Any, kwargs: Any) -> Any:
        """The query among the arguments of a cursor's method."""
        return args[1] if len(args) > 1 else kwargs.get(self.query)

    def parameters_of(self, args: Any, kwargs: Any) -> Any:
        """Its parameters; None: there are none."""
        return args[_BEFORE_PARAMETERS] if len(args) > _BEFORE_PARAMETERS else kwargs.get(self.parameters)

    def text(self, query: Any, connection_plan: Any, connection: Any) -> Any:
        """The text of a query."""
        return query if type(query) is str else self.text_of(query, connection_plan, connection)


def around_execute(driver: Driver, original: Any) -> Any:
    """Wrap `execute` of a cursor: the shortest path, taken by most calls."""
    return around(driver, entrance_of(driver), original, apply=functools.partial(apply_options, driver))


def around_executemany(driver: Driver, original: Any, **steps: Any) -> Any:
    """Wrap `executemany` of a cursor; see `calls.around_entrance`."""

    def open_query(args: Any, kwargs: Any) -> Opening:
        connection = driver.connection_of(args[0])
        if connection is None:
            return NOTHING
        connection_plan = driver.database.connection_plan(connection)
        sets = args[_BEFORE_PARAMETERS] if len(args) > _BEFORE_PARAMETERS else kwargs.get(driver.sets)
        return call_wrappers.batch(
            connection_plan, driver.text(driver.query_of(args, kwargs), connection_plan, connection), sets, sets
        )

    apply = functools.partial(_add_comment, driver) if driver.comments_batches else call_wrappers.unchanged
    return around(driver, driver.database.of_opener(open_query), original, apply=apply, **steps)


def around(driver: Driver, entrance: Entrance, original: Any, **steps: Any) -> Any:
    """Wrap a method of a cursor; see `calls.around_entrance`."""
    method = call_wrappers.around_entrance(driver.database, entrance, original, **{"count": count, **steps})
    setattr(method, DATABASE_OF, driver.database)
    return method


def entrance_of(driver: Driver) -> Entrance:
    """The entrance for `execute`: as `calls.enter` with an opener, but without its calls."""
    database = driver.database

    def make(active: Any) -> Any:
        entering = hot.db_entering
        names = driver.connection, driver.connection_plan, driver.query, driver.parameters
        return entering.Cursors(active, database, *names, driver.text_of).enter

    return database.entrance(driver, make)


def count(call: Any, args: Any, _result: Any) -> None:
    """Record the rows of a cursor's result; those of the stock instrumentation include rows that were changed."""
    cursor = args[0]
    if call.connection_plan.active.is_same or getattr(cursor, "description", None) is not None:
        number = cursor.rowcount
        if 0 <= number < _MOST_ROWS:
            call.record_rows(number)


def apply_options(driver: Driver, call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Apply the options to a query: set parameters as attributes, add a comment."""
    parameters = driver.parameters_of(args, kwargs)
    if call.recording and parameters is not None:
        call_guarded(
            driver.database.place, query_parameters.put_parameters, call, call.connection_plan, parameters, None
        )
    return _add_comment(driver, call, args, kwargs)


def _add_comment(driver: Driver, call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Add the comment that the options ask for, or that of the stock instrumentation."""
    active = call.connection_plan.active
    if not active.comments:
        return args, kwargs
    query = driver.query_of(args, kwargs)
    if active.convention.comments:
        made = active.convention.commented(call, query, args[0]) if call.recording else query
    else:
        made = driver.commented(query, args[0], driver.sets in kwargs or driver.parameters_of(args, kwargs) is not None)
    return ((args[0], made, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, driver.query: made})
