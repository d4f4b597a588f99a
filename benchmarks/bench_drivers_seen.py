"""Connections that come and go, and more texts in turn than have plans, for each driver: no dearer than stock.

    otel-fastpath budget check --file benchmarks/budgets.toml --metrics instructions --only 'psycopg, * seen*'

A stub replaces what a driver sends to its server, so that the hooks are counted; Django and SQLAlchemy are on a real
SQLite, and their own work is in the figures. Ours are in the place of stock's instrumentations, as by default.
"""

from __future__ import annotations

import itertools
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import bench_asyncpg
import bench_connections
import bench_psycopg
import bench_psycopg2

# Ten times as many as have plans: 4 MB at 2 kB each. Those that are first fill the table: all others are beyond it.
TEXTS, FIRST = 20_000, 2_500
QUERY = "SELECT 1 WHERE 1 = 1"


class Driver:
    """A driver with a stub for what it sends to its server.

    Attributes:
        instrumented: The libraries that are instrumented.
    """

    instrumented: tuple[str, ...]

    def connect(self) -> Any:
        """Connect, with whatever is instrumented; returns what executes a query."""
        raise NotImplementedError

    def bare(self) -> Any:
        """The same without an instrumentation; a driver that is no stub has its own work in the figures."""
        return _nothing

    def text(self, number: int) -> str:
        """A text that differs from those of all other numbers."""
        return f"SELECT {number} WHERE 1 = {number}"


def _nothing(_text: str) -> None:
    pass


class _PsycopgConnection(bench_psycopg.Connection):
    def __init__(self, cursor_factory: Any) -> None:
        super().__init__()
        self.cursor_factory = cursor_factory

    def cursor(self) -> Any:
        return bench_psycopg._cursor(self.cursor_factory, self)


class Psycopg(Driver):
    """psycopg, with stubs for `connect` and `execute`."""

    instrumented = ("psycopg",)

    def __init__(self) -> None:
        import psycopg  # noqa: PLC0415  # only where it is measured

        def connect(_class: Any, *_args: Any, cursor_factory: Any = None) -> Any:
            return _PsycopgConnection(cursor_factory or psycopg.Cursor)

        bench_psycopg._stub()
        kind: Any = psycopg.Connection
        kind.connect = classmethod(connect)
        self._kind, self._connect = kind, connect

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        return self._kind.connect().cursor().execute

    def bare(self) -> Any:
        """The same without an instrumentation."""
        return partial(bench_psycopg._execute, self._connect(None).cursor())


class _Psycopg2Connection(bench_psycopg2.Connection):
    cursor_factory: Any = None

    def cursor(self, _name: Any = None, cursor_factory: Any = None) -> Any:
        return (cursor_factory or self.cursor_factory)(self)


class Psycopg2(Driver):
    """psycopg2, likewise; connections and cursors are of Python classes."""

    instrumented = ("psycopg2",)

    def __init__(self) -> None:
        import psycopg2  # noqa: PLC0415  # only where it is measured

        self._module: Any = psycopg2
        self._module._connect = bench_psycopg2._connect

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        factories = {"connection_factory": _Psycopg2Connection, "cursor_factory": bench_psycopg2.Cursor}
        return self._module.connect("dbname=bench", **factories).cursor().execute

    def bare(self) -> Any:
        """The same without an instrumentation."""
        return bench_psycopg2.Cursor(_Psycopg2Connection()).execute


def _mysql_connect(_connection: Any) -> None:
    pass


def _mysql_execute(_cursor: Any, _query: Any, _args: Any = None) -> int:
    return 1


class PyMySQL(Driver):
    """PyMySQL, likewise."""

    instrumented = ("pymysql",)
    _where: dict[str, Any] = {"host": "127.0.0.1", "port": 3307, "user": "bench", "database": "bench"}  # noqa: RUF012

    def __init__(self) -> None:
        import pymysql  # noqa: PLC0415  # only where it is measured

        self._module: Any = pymysql
        self._module.connections.Connection.connect = _mysql_connect
        self._module.cursors.Cursor.execute = _mysql_execute
        self._bare = type("Connection", (pymysql.connections.Connection,), {"connect": _mysql_connect})

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        return self._module.connect(**self._where).cursor().execute

    def bare(self) -> Any:
        """The same without an instrumentation."""
        return partial(_mysql_execute, self._bare(**self._where).cursor())


class Asyncpg(Driver):
    """asyncpg, likewise."""

    instrumented = ("asyncpg",)

    def __init__(self) -> None:
        import asyncpg  # noqa: PLC0415  # only where it is measured

        bench_asyncpg._stub()
        self._module: Any = asyncpg

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        bench_asyncpg._finish(self._module.connect())
        fetch = bench_asyncpg.new_connection().fetch
        return lambda text: bench_asyncpg._finish(fetch(text))

    def bare(self) -> Any:
        """The same without an instrumentation."""
        bench_asyncpg._finish(bench_asyncpg._connect())
        connection = bench_asyncpg.new_connection()
        return lambda text: bench_asyncpg._finish(bench_asyncpg._fetch(connection, text))


class Redis(Driver):
    """redis-py, with a stub for `execute_command`; a text is the name of a command."""

    instrumented = ("redis",)

    def __init__(self) -> None:
        import redis  # noqa: PLC0415  # only where it is measured

        self._kind: Any = redis.Redis
        self._kind.execute_command = bench_connections._command

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        return self._kind(host="127.0.0.1").execute_command

    def bare(self) -> Any:
        """The same without an instrumentation."""
        return partial(bench_connections._command, self._kind(host="127.0.0.1"))

    def text(self, number: int) -> str:
        """The name of a command."""
        return f"module.command-{number}"


class SQLAlchemy(Driver):
    """SQLAlchemy on sqlite3 in memory, which is not instrumented, without a pool."""

    instrumented = ("sqlalchemy",)

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        import sqlalchemy as sa  # noqa: PLC0415  # only where it is measured

        connection = sa.create_engine("sqlite://", poolclass=sa.NullPool).connect()
        return lambda text: connection.exec_driver_sql(text).close()


class Django(Driver):
    """Django on sqlite3 with CONN_MAX_AGE=0: the connection is closed after each request."""

    instrumented = ("sqlite3",)

    def __init__(self) -> None:
        import django  # noqa: PLC0415  # only where it is measured
        from django.conf import settings  # noqa: PLC0415  # likewise

        self._folder = tempfile.TemporaryDirectory()
        name = str(Path(self._folder.name, "site.sqlite"))
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": name}})
        django.setup()

    def connect(self) -> Any:
        """Connect and return what executes a query."""
        return self._request

    def _request(self, _text: str) -> None:
        from django.db import connection  # noqa: PLC0415  # likewise

        with connection.cursor() as cursor:
            for number in range(20):
                cursor.execute(f"SELECT {number} AS column_{number} WHERE 1 = %s", [1])
                cursor.fetchone()
        connection.close()


class Given:
    """The objects that the callables of this file use.

    Attributes:
        driver: The driver.
        execute, execute_bare: What executes a query on a connection that stays open.
        texts, texts_bare: Texts in turn.
    """

    def __init__(self, kind: type[Driver], core: str) -> None:
        self.driver = kind()
        bench_connections.instrument(self.driver.instrumented, core)
        self.execute, self.execute_bare = self.driver.connect(), self.driver.bare()
        texts = [self.driver.text(number) for number in range(TEXTS)]
        self.texts, self.texts_bare = itertools.cycle(texts), itertools.cycle(texts)
        for text in itertools.islice(self.texts, 0 if kind is Django else FIRST):
            self.execute(text)


def __getattr__(name: str) -> Any:
    """The set-ups: "psycopg_stock", "psycopg_compiled", "psycopg_pure" and those of the other drivers."""
    driver, _, core = name.rpartition("_")
    kinds = {kind.__name__.lower(): kind for kind in Driver.__subclasses__()}
    cores = {"stock": "", "compiled": "c", "pure": "py"}
    if driver not in kinds or core not in cores:
        raise AttributeError(name)
    return partial(Given, kinds[driver], cores[core])


def connected_bare(given: Given) -> None:
    """A connection, and a query."""
    given.driver.bare()(QUERY)


def connected(given: Given) -> None:
    """The same, instrumented."""
    given.driver.connect()(QUERY)


def queried_bare(given: Given) -> None:
    """A query with one of more texts in turn than have plans."""
    given.execute_bare(next(given.texts_bare))


def queried(given: Given) -> None:
    """The same, instrumented."""
    given.execute(next(given.texts))
