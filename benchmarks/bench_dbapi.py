"""Our hooks around sqlite3, with a database in memory, and around PyMySQL with a stub for the driver, for the budgets.

otel-fastpath budget check --file benchmarks/budgets.toml --only 'sqlite3,*' --only 'pymysql,*' --only 'dbapi,*'
"""

from __future__ import annotations

import contextlib
import sqlite3
from types import SimpleNamespace
from typing import Any

import databases

QUERY = "SELECT 1 WHERE 1 = ?"
PARAMETERS = (1,)
MYSQL_QUERY = "SELECT id, v FROM bench_t WHERE id = %s"


class Connection:
    """What the hooks read of a connection of PyMySQL."""

    unix_socket = None
    host, port, db, user = "127.0.0.1", 3307, "bench", b"bench"

    def commit(self) -> None:
        """Do nothing."""

    def connect(self) -> None:
        """Do nothing."""


class Cursor:
    """What they read of a cursor."""

    description = ()
    rowcount = 1

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, query: Any, args: Any = None) -> None:
        """Do nothing."""


async def _in_thread(_connection: Any, fn: Any, *args: Any) -> Any:
    return fn(*args)


def _nothing(*_args: Any) -> None:
    pass


def _commented(connection: Any, given: dict[str, Any]) -> Any:
    from opentelemetry.instrumentation import dbapi  # noqa: PLC0415  # only where it is measured

    return dbapi.instrument_connection("bench", connection, "sqlite", enable_commenter=True, **given).cursor()


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: A connection of sqlite3.
        bare_cursor: A cursor of it.
        connection: A connection that is instrumented.
        cursor: A cursor of it.
        in_thread: The hook around the stub of aiosqlite's function for its thread.
        other: A cursor of sqlite3 that only the stock instrumentation of the DB-API knows.
        commented: Another one, whose queries get a comment.
        mysql: A cursor of the stub of PyMySQL, with the hooks; and the hooks around its connection's methods.
    """

    def __init__(self, mode: str, core: str) -> None:
        from functools import partial  # noqa: PLC0415  # with the others

        from otel_fastpath.db import cursors  # noqa: PLC0415  # only where it is measured
        from otel_fastpath.db.call_wrappers import always, around_command  # noqa: PLC0415  # likewise
        from otel_fastpath.db.connecting import around_connect  # noqa: PLC0415  # likewise
        from otel_fastpath.db.dbapi.mysql import driver  # noqa: PLC0415  # likewise
        from otel_fastpath.db.pymysql.query_plans import DATABASE, server_of  # noqa: PLC0415  # likewise
        from otel_fastpath.db.sqlite3 import aiosqlite_threads  # noqa: PLC0415  # likewise

        self.bare = sqlite3.connect(":memory:")
        self.bare_cursor = self.bare.cursor()
        # One of its own: the statement of a cursor that has rows left is not used for another cursor.
        other, commented = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
        given = databases.providers(mode)
        databases.instrument("sqlite3", mode, core)
        from otel_fastpath.wrapping.library import Setup  # noqa: PLC0415  # likewise

        options = "" if "metrics" in mode or "no SDK" in mode else "no-metrics"
        DATABASE.configure(Setup(given, options))
        from opentelemetry.instrumentation import dbapi  # noqa: PLC0415  # likewise

        self.other = dbapi.instrument_connection("bench", other, "sqlite", **given).cursor()
        self.commented = _commented(commented, given)
        self.connection = sqlite3.connect(":memory:")
        self.cursor = self.connection.cursor()
        self.in_thread = aiosqlite_threads.make_execute(_in_thread)
        kind = SimpleNamespace(
            execute=cursors.around_execute(driver(DATABASE), Cursor.execute),
            commit=around_command(DATABASE, always("COMMIT"), Connection.commit),
            connect=around_connect(
                DATABASE,
                lambda _none, args, *_: server_of(args[0]),
                lambda args, _: server_of(args[0]),
                Connection.connect,
            ),
        )
        mysql = Cursor(Connection())
        self.mysql = SimpleNamespace(
            bare=mysql,
            execute=partial(kind.execute, mysql),
            commit=partial(kind.commit, mysql.connection),
            connect=partial(kind.connect, mysql.connection),
        )


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(Given)


def _finish(coroutine: Any) -> None:
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def execute_bare(given: Given) -> None:
    """sqlite3's own."""
    given.bare_cursor.execute(QUERY, PARAMETERS)


def execute(given: Given) -> None:
    """The hook around it."""
    given.cursor.execute(QUERY, PARAMETERS)


def other(given: Given) -> None:
    """The stock proxy around it."""
    given.other.execute(QUERY, PARAMETERS)


def other_stock(mode: str = "ours") -> SimpleNamespace:
    """The stock proxy without otel-fastpath."""
    from opentelemetry.instrumentation import dbapi  # noqa: PLC0415  # likewise

    bare, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    given = databases.providers(mode)
    proxy = dbapi.instrument_connection("bench", other, "sqlite", **given)
    commented = _commented(sqlite3.connect(":memory:"), given)
    return SimpleNamespace(bare_cursor=bare.cursor(), other=proxy.cursor(), commented=commented)


def commented(given: Given) -> None:
    """The stock proxy that adds a comment."""
    given.commented.execute(QUERY, PARAMETERS)


def of_connection_bare(given: Given) -> None:
    """sqlite3's own."""
    given.bare.execute(QUERY, PARAMETERS)


def of_connection(given: Given) -> None:
    """The hook in its place."""
    given.connection.execute(QUERY, PARAMETERS)


def transaction_bare(given: Given) -> None:
    """sqlite3's own `execute` and `commit`."""
    given.bare_cursor.execute("BEGIN")
    given.bare.commit()


def transaction(given: Given) -> None:
    """The hooks around them."""
    given.cursor.execute("BEGIN")
    given.connection.commit()


def connect_bare(given: Given) -> None:  # noqa: ARG001  # as the others
    """sqlite3's own; `instrument` leaves it in the module of its functions."""
    import _sqlite3  # noqa: PLC0415  # only where it is measured

    _sqlite3.connect(":memory:").close()


def connect(given: Given) -> None:  # noqa: ARG001  # likewise
    """The hook around it."""
    sqlite3.connect(":memory:").close()


def in_thread_bare(given: Given) -> None:
    """The stub."""
    _finish(_in_thread(given, _nothing, QUERY))


def in_thread(given: Given) -> None:
    """The hook around it."""
    _finish(given.in_thread(given, _nothing, QUERY))


def mysql_execute_bare(given: Given) -> None:
    """The stub."""
    given.mysql.bare.execute(MYSQL_QUERY, PARAMETERS)


def mysql_execute(given: Given) -> None:
    """The hook around it."""
    given.mysql.execute(MYSQL_QUERY, PARAMETERS)


def mysql_commit_bare(given: Given) -> None:
    """The stub."""
    given.mysql.bare.connection.commit()


def mysql_commit(given: Given) -> None:
    """The hook around it."""
    given.mysql.commit()


def mysql_connect_bare(given: Given) -> None:
    """The stub."""
    given.mysql.bare.connection.connect()


def mysql_connect(given: Given) -> None:
    """The hook around it."""
    given.mysql.connect()
