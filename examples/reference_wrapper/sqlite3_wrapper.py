"""Watches sqlite3: the smallest complete wrapper of a library, to copy for another. See docs/contributing.md."""

import functools
from typing import Any

from otel_fastpath.db.call_wrappers import around_sync, batch, no_rows, query
from otel_fastpath.db.database import Database
from otel_fastpath.db.server_attributes import Server, System
from otel_fastpath.patching.patch import Patch
from otel_fastpath.wrapping.library import Library

WHY = "Statements are spans and durations."
BUDGETS = ("reference wrapper, execute of sqlite3",)
FACTORY_POSITION = 5  # of the connection's class, among the arguments of `connect`
DATABASE = Database(
    "sqlite3",
    lambda connection: Server(System("sqlite"), namespace=str(connection.otel_database)),
    status_code=lambda error: getattr(error, "sqlite_errorname", None),
    connection=lambda cursor: cursor.connection,
)


def _statement(args: Any, _kwargs: Any) -> Any:
    return query(DATABASE.connection_plan(args[0].connection), args[1], args[2] if args[2:] else None)


def _batch(args: Any, _kwargs: Any) -> Any:
    return batch(DATABASE.connection_plan(args[0].connection), args[1], args[2], None)


def _make_connect(original: Any, _settings: Any) -> Any:
    import sqlite3  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    class Cursor(sqlite3.Cursor):
        execute = around_sync(DATABASE, _statement, no_rows, sqlite3.Cursor.execute)
        executemany = around_sync(DATABASE, _batch, no_rows, sqlite3.Cursor.executemany)
        executescript = around_sync(DATABASE, _statement, no_rows, sqlite3.Cursor.executescript)

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

    for name in ("execute", "executemany", "executescript"):  # those of sqlite3 do not ask `cursor`
        method = functools.wraps(getattr(sqlite3.Connection, name))
        setattr(Connection, name, method(lambda self, *args, _name=name: getattr(self.cursor(), _name)(*args)))

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        is_ours = len(args) <= FACTORY_POSITION and kwargs.setdefault("factory", Connection) is Connection
        connection = original(*args, **kwargs)
        if is_ours:
            connection.otel_database = args[0] if args else kwargs["database"]
        return connection

    return connect


NAMES = ("connect", "dbapi2.connect")  # below "sqlite3": patched when the whole package is there
PATCHES = tuple(Patch(f"sqlite3.{name}", f"sqlite3:{name}", WHY, _make_connect, budgets=BUDGETS) for name in NAMES)
LIBRARY = Library("sqlite3", WHY, PATCHES, DATABASE.configure, DATABASE.read, stop=DATABASE.stop)
