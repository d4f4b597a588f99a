"""Connections and cursors of sqlite3, of subclasses: its classes are in C and cannot be changed.

`sqlite3.Cursor(connection)` and `other.backup(connection)` accept them, as they are connections of sqlite3.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import call_wrappers, cursors
from otel_fastpath.db.call_wrappers import around_command
from otel_fastpath.db.connecting import around_connect
from otel_fastpath.db.derived import Derived
from otel_fastpath.db.sqlite3.query_plans import CONNECTION_PLAN, DATABASE, DRIVER, NAME, OF_CONNECTION, server_named
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from otel_fastpath.db.call_wrappers import Opening
    from otel_fastpath.db.cursors import Driver
    from otel_fastpath.db.server_attributes import Server

# The position of the connection's class among the arguments of `connect`.
_FACTORY_AT: Final = 5


def _of_script(driver: Driver, args: Any, kwargs: Any) -> Opening:
    """Open `executescript`."""
    connection = driver.connection_of(args[0])
    if connection is None:
        return cursors.NOTHING
    connection_plan = DATABASE.connection_plan(connection)
    text = args[1] if len(args) > 1 else kwargs.get("sql_script")
    return (
        connection_plan,
        None
        if connection_plan.active.is_same
        else connection_plan.plans.plan(driver.text(text, connection_plan, connection)),
        None,
        None,
        None,
    )


def _around_script(driver: Driver, original: Any) -> Any:
    return call_wrappers.around_sync(DATABASE, functools.partial(_of_script, driver), call_wrappers.no_rows, original)


CURSORS: Final = Derived(
    {
        "execute": functools.partial(cursors.around_execute, DRIVER),
        "executemany": functools.partial(cursors.around_executemany, DRIVER),
        "executescript": functools.partial(_around_script, DRIVER),
    }
)


def _make_cursor(original: Any) -> Any:
    """Wrap `cursor` of a connection."""

    @functools.wraps(original)
    def cursor(self: Any, *args: Any, **kwargs: Any) -> Any:
        if DATABASE.active is None:
            return original(self, *args, **kwargs)
        factory = call_guarded(DATABASE.place, _derived_cursor, args, kwargs)
        return original(self, *args, **kwargs) if factory is None else original(self, factory)

    return cursor


def _derived_cursor(args: Any, kwargs: Any) -> Any:
    """The class of the cursor that is asked for; None: it is asked for in a way that sqlite3 itself handles."""
    import sqlite3  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    if len(args) > 1 or kwargs.keys() - {"factory"} or (args and kwargs):
        return None
    factory = args[0] if args else kwargs.get("factory", sqlite3.Cursor)
    return CURSORS.of(factory) if isinstance(factory, type) and issubclass(factory, sqlite3.Cursor) else None


def _shortcut(name: str, wrap: Any, original: Any) -> Any:
    """Wrap a method that makes a cursor and executes something with it.

    Args:
        name: Its name.
        wrap: Wraps the method of a connection.
        original: The method; sqlite3's own would make a cursor whose later queries are not seen.
    """
    import sqlite3  # noqa: PLC0415  # likewise

    is_own = original is not getattr(sqlite3.Connection, name)
    wrapped = wrap(original)
    new_cursor = _make_cursor(sqlite3.Connection.cursor)
    # Before 3.11, it calls `cursor` of the connection, whose queries are seen; those of this method are not to be.
    unseen = original if is_own or sys.version_info >= (3, 11) else functools.partial(_by_own_cursor, name)

    def cursors_method(connection: Any) -> Any:
        """The method of a new cursor; None: the connection is closed, which its own method says."""
        try:
            return getattr(new_cursor(connection), name)
        except sqlite3.Error:
            return None

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        active = DATABASE.active
        if active is None:
            return original(self, *args, **kwargs)
        if active.is_same:
            return unseen(self, *args, **kwargs)
        if is_own:
            return wrapped(self, *args, **kwargs)
        function = call_guarded(DATABASE.place, cursors_method, self)
        return original(self, *args, **kwargs) if function is None else function(*args, **kwargs)

    return method


def _by_own_cursor(name: str, connection: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the method of this name of a cursor of sqlite3's own class."""
    import sqlite3  # noqa: PLC0415  # likewise

    return getattr(sqlite3.Connection.cursor(connection), name)(*args, **kwargs)


def _command(name: str, connection: Any) -> str | None:
    """The command that a connection sends at the end of a transaction; None: nothing is sent."""
    import sqlite3  # noqa: PLC0415  # likewise

    try:
        is_open = connection.in_transaction and getattr(connection, "autocommit", False) is not True
    except sqlite3.ProgrammingError:
        # It is closed.
        return None
    return name if is_open else None


def _left(connection: Any, kind: Any = None, _error: Any = None, _traceback: Any = None) -> str | None:
    """The command that leaving a `with` block of a connection sends."""
    return _command("COMMIT" if kind is None else "ROLLBACK", connection)


CONNECTIONS: Final = Derived(
    {
        "cursor": _make_cursor,
        "execute": functools.partial(_shortcut, "execute", functools.partial(cursors.around_execute, OF_CONNECTION)),
        "executemany": functools.partial(
            _shortcut, "executemany", functools.partial(cursors.around_executemany, OF_CONNECTION)
        ),
        "executescript": functools.partial(
            _shortcut, "executescript", functools.partial(_around_script, OF_CONNECTION)
        ),
        "commit": functools.partial(around_command, DATABASE, functools.partial(_command, "COMMIT")),
        "rollback": functools.partial(around_command, DATABASE, functools.partial(_command, "ROLLBACK")),
        "__exit__": functools.partial(around_command, DATABASE, _left),
    },
    (CONNECTION_PLAN, NAME),
    below=frozenset({"cursor"}),
)


def make_connect(original: Any) -> Any:
    """Wrap `sqlite3.connect`."""
    wrapped = around_connect(DATABASE, _after_connect, _meant, original)

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        given = None if DATABASE.active is None else call_guarded(DATABASE.place, _with_factory, args, kwargs)
        if given is None:
            return original(*args, **kwargs)
        args, kwargs = given
        return wrapped(*args, **kwargs)

    return connect


def _with_factory(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of `connect` with a subclass of the connection's class; a factory that is no class is as it was."""
    import sqlite3  # noqa: PLC0415  # likewise

    by_position = len(args) > _FACTORY_AT
    factory = args[_FACTORY_AT] if by_position else kwargs.get("factory", sqlite3.Connection)
    if not (isinstance(factory, type) and issubclass(factory, sqlite3.Connection)):
        return args, kwargs
    factory = CONNECTIONS.of(factory)
    if by_position:
        return (*args[:_FACTORY_AT], factory, *args[_FACTORY_AT + 1 :]), kwargs
    return args, {**kwargs, "factory": factory}


def _name(args: Any, kwargs: Any) -> Any:
    return args[0] if args else kwargs.get("database")


def _after_connect(connection: Any, args: Any, kwargs: Any, _start_ns: int) -> Server | None:
    """Store the name of a connection; None: it is none of sqlite3's, or a function made it of the class in C."""
    import sqlite3  # noqa: PLC0415  # likewise

    if not isinstance(connection, sqlite3.Connection) or type(connection) is sqlite3.Connection:
        return None
    CONNECTIONS.over(connection)
    name = _name(args, kwargs)
    setattr(connection, NAME, name)
    # What its `__init__` has executed was executed without the name.
    setattr(connection, CONNECTION_PLAN, None)
    return server_named(name)


def _meant(args: Any, kwargs: Any) -> Server:
    name = _name(args, kwargs)
    return server_named(name if isinstance(name, (str, bytes)) else None)
