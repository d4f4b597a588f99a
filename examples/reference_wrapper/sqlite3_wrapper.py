"""Watches sqlite3: the smallest complete wrapper of a library, to copy for another. See docs/contributing.md."""

from __future__ import annotations

import functools
from typing import Any

from otel_fastpath.libraries.db import calls, conventions
from otel_fastpath.libraries.db.options import Options, parse
from otel_fastpath.libraries.db.plans import Active
from otel_fastpath.libraries.db.servers import Server, System
from otel_fastpath.libraries.library import Library, Setup
from otel_fastpath.patching.patch import Patch

WHY = "Statements are spans and durations."
_FACTORY = 5  # Where the class of the connection is among the arguments of `connect`.
_active: Any = None


def _configure(setup: Setup | None = None) -> None:  # without a set-up: taken off
    global _active
    options = parse("sqlite3", setup.options if setup else "", Options)
    _active = Active(setup, "otel_fastpath.sqlite3", options, _failure) if setup else None


def _failure(error: BaseException) -> Any:  # must not raise
    return conventions.failure(error, getattr(error, "sqlite_errorname", None))


def _link(cursor: Any) -> Any:  # what is kept for the cursor's connection, made anew where the set-up is another
    connection = cursor.connection
    if connection.otel_link is None or connection.otel_link.active is not _active:
        server = Server(System("sqlite"), namespace=str(connection.otel_database))
        connection.otel_link = _active.link(_active.plans_of(server))
    return connection.otel_link


def _one(args: Any, _kwargs: Any) -> Any:  # a statement: see `calls.Opening`
    (_cursor, text, *given), link = args, _link(args[0])
    return link, link.plans.plan(text, "", bool(given)), None, given[0] if given else None, None


def _many(args: Any, _kwargs: Any) -> Any:  # a statement with several sets of parameters
    return calls.batch(_link(args[0]), args[1], args[2], None)


def _around(opener: Any, original: Any) -> Any:
    watched = calls.around_sync(_WATCHER, opener, calls.no_rows, original)
    return functools.wraps(original)(lambda *args: original(*args) if _active is None else watched(*args))


def _make_connect(original: Any) -> Any:
    import sqlite3  # noqa: PLC0415  # it is there: a wrapper does not import its library

    class Cursor(sqlite3.Cursor):
        execute, executescript = _around(_one, sqlite3.Cursor.execute), _around(_one, sqlite3.Cursor.executescript)
        executemany = _around(_many, sqlite3.Cursor.executemany)

    class Connection(sqlite3.Connection):
        otel_link, cursor = None, lambda self, factory=Cursor: sqlite3.Connection.cursor(self, factory)

    for name in ("execute", "executemany", "executescript"):  # what sqlite3 does in C, which does not ask `cursor`
        method = functools.wraps(getattr(sqlite3.Connection, name))
        setattr(Connection, name, method(lambda self, *args, _name=name: getattr(self.cursor(), _name)(*args)))

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        is_ours = len(args) <= _FACTORY and kwargs.setdefault("factory", Connection) is Connection
        connection = original(*args, **kwargs)
        if is_ours:
            connection.otel_database = args[0] if args else kwargs["database"]
        return connection

    return connect


_WATCHER = calls.Watcher("a sqlite3 call", lambda cursor: cursor.connection.otel_link)
# Below "sqlite3", so that both are applied when the whole package is there.
PATCHES = tuple(
    Patch(f"sqlite3.{name}", f"sqlite3:{name}", WHY, _make_connect) for name in ("connect", "dbapi2.connect")
)
LIBRARY = Library("sqlite3", WHY, PATCHES, _configure, stop=_configure)
