"""Our hooks around psycopg2 with a stub for the driver, for the budgets.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'psycopg2,*'

The hooks are methods of subclasses: here, of the stub's classes. The set-ups are `stock`, `pure` and those that
start with `compiled`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import databases

QUERY = "SELECT id, v FROM bench_t WHERE id = %s"
PARAMETERS = (1,)
SETS = [(1,), (2,)]
ROWS = [(1, "x")] * 50
# psycopg2.extensions.STATUS_BEGIN
IN_TRANSACTION = 2


class Connection:
    """What the hooks read of a connection."""

    closed = False
    status = IN_TRANSACTION
    autocommit = False
    cursor_factory = None
    info = SimpleNamespace(host="127.0.0.1", port=5433, dbname="bench", user="bench")

    def commit(self) -> None:
        """Do nothing."""


class Cursor:
    """What they read of a cursor."""

    description = ()
    rowcount = 1
    rownumber = 1

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, query: Any, vars: Any = None) -> None:  # noqa: A002  # as psycopg2 has it
        """Do nothing."""

    def executemany(self, query: Any, vars_list: Any) -> None:
        """Do nothing."""

    def fetchmany(self, _number: int) -> Any:
        """The rows of a round trip."""
        return ROWS


def _execute_values(cursor: Any, sql: Any, argslist: Any) -> None:
    for _ in argslist:
        cursor.execute(sql)


def _connect(_dsn: Any, connection_factory: Any = None) -> Any:
    return (connection_factory or Connection)()


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: A cursor of the stub.
        cursor: A cursor of the subclass with the hooks.
        named: Likewise, a named one that was declared.
        execute_values: The hook around the stub.
        connect: Likewise.
    """

    def __init__(self) -> None:
        from otel_fastpath.db.psycopg2 import connecting, hooks  # noqa: PLC0415  # only where it is measured

        connection = connecting.CONNECTIONS.of(Connection)()
        self.bare = Cursor(Connection())
        self.cursor = hooks.CURSORS.of(Cursor)(connection)
        self.named = hooks.NAMED_CURSORS.of(Cursor)(connection)
        self.named.execute(QUERY, PARAMETERS)
        self.execute_values = hooks.make_pages(_execute_values)
        self.connect = connecting.make_connect(_connect)


def _given(mode: str, core: str) -> Given:
    databases.instrument("psycopg2", mode, core)
    return Given()


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(_given)


def stock() -> Any:
    """The stock instrumentation's cursors, with traces."""
    from opentelemetry.instrumentation.psycopg2 import _new_cursor_factory  # noqa: PLC0415  # only where it is measured

    provider = databases.providers("stock")["tracer_provider"]
    factory = _new_cursor_factory(base_factory=Cursor, tracer_provider=provider)
    return SimpleNamespace(bare=Cursor(Connection()), cursor=factory(Connection()))


def execute_bare(given: Given) -> None:
    """The stub."""
    given.bare.execute(QUERY, PARAMETERS)


def execute(given: Given) -> None:
    """The hook around it."""
    given.cursor.execute(QUERY, PARAMETERS)


def executemany_bare(given: Given) -> None:
    """The stub."""
    given.bare.executemany(QUERY, SETS)


def executemany(given: Given) -> None:
    """The hook around it."""
    given.cursor.executemany(QUERY, SETS)


def pages_bare(given: Given) -> None:
    """The stub of `execute_values`, with two pages."""
    _execute_values(given.bare, QUERY, SETS)


def pages(given: Given) -> None:
    """The hook around it, and those around its pages."""
    given.execute_values(given.cursor, QUERY, SETS)


def named_bare(given: Given) -> None:
    """The stub of a round trip."""
    given.bare.fetchmany(50)


def named(given: Given) -> None:
    """The hook around it."""
    given.named.fetchmany(50)


def commit_bare(given: Given) -> None:
    """The stub."""
    given.bare.connection.commit()


def commit(given: Given) -> None:
    """The hook around it."""
    given.cursor.connection.commit()


def connect_bare(given: Given) -> None:  # noqa: ARG001  # as the others
    """The stub."""
    _connect("dbname=bench", Connection)


def connect(given: Given) -> None:
    """The hook around it, with the plan of the connection."""
    given.connect("dbname=bench", Connection)
