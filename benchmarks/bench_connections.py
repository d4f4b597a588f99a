"""Connections that come and go, and texts, servers and commands never seen, with stock's instrumentations and ours.

    otel-fastpath budget check --file benchmarks/budgets.toml --metrics instructions --only 'new *'

Ours are in the place of stock's, as by default. The limits are what stock adds to the same calls.
"""

from __future__ import annotations

import itertools
import sqlite3
from functools import partial
from typing import Any

import databases

# More than the texts and servers whose plans are kept: all that is measured is beyond that.
TEXTS = 2_500
SERVERS = 100
LONG = ", ".join(f"'name {number}'" for number in range(8192 // 13))


class Given:
    """The objects that the callables of this file use.

    Attributes:
        connect: sqlite3's own `connect`.
        bare_cursor: A cursor of such a connection.
        cursor: A cursor of one that is instrumented.
        client: A client of redis, likewise.
        engine: An engine that makes a connection each time, likewise.
        numbers: A new number for each call.
        plans: The plans of a database, for some set-ups.

    Args:
        libraries: The libraries that are instrumented.
        core: The core of ours; empty: stock alone.
    """

    def __init__(self, libraries: tuple[str, ...], core: str = "") -> None:
        import _sqlite3  # noqa: PLC0415  # `instrument` leaves sqlite3's own there

        import redis  # noqa: PLC0415  # only where it is measured
        import sqlalchemy as sa  # noqa: PLC0415  # likewise

        self.connect: Any = _sqlite3.connect
        self.numbers = itertools.count()
        client: Any = redis.Redis
        client.execute_command = _command
        self.bare_cursor = self.connect(":memory:").cursor()
        instrument(libraries, core)
        self.engine = sa.create_engine("sqlite://", poolclass=sa.NullPool)
        self.cursor = sqlite3.connect(":memory:").cursor()
        self.client = client(host="127.0.0.1")
        self.select = sa.text("SELECT 1")
        self.plans: Any = None


_INSTRUMENTORS = {
    "asyncpg": "AsyncPGInstrumentor",
    "psycopg": "PsycopgInstrumentor",
    "psycopg2": "Psycopg2Instrumentor",
    "pymysql": "PyMySQLInstrumentor",
    "redis": "RedisInstrumentor",
    "sqlalchemy": "SQLAlchemyInstrumentor",
    "sqlite3": "SQLite3Instrumentor",
}


def instrument(libraries: tuple[str, ...], core: str) -> None:
    """Instrument libraries with stock's instrumentations, or with ours of this core in their place."""
    from importlib import import_module  # noqa: PLC0415  # as the others

    given = databases.providers("ours")
    if core:
        from otel_fastpath import FastpathInstrumentor, compiled  # noqa: PLC0415  # not where stock is measured

        FastpathInstrumentor().instrument(core=core, disabled="exceptions", **given)
        if compiled.implementation()[0] != core:
            raise RuntimeError(f"the {core!r} core is not there: {compiled.implementation()[1]}")
    for library in libraries:
        module = import_module(f"opentelemetry.instrumentation.{library}")
        # It knows no SQLAlchemy 2.1.
        getattr(module, _INSTRUMENTORS[library])().instrument(skip_dep_check=True, **given)


def _command(_client: Any, *_args: Any, **_options: Any) -> bytes:
    return b"1"


def _drivers(core: str) -> Given:
    """sqlite3 and redis, with more texts and servers than are kept."""
    given = Given(("sqlite3", "redis"), core)
    for _ in range(TEXTS):
        text(given)
        name(given)
    for _ in range(SERVERS):
        server(given)
    return given


stock, compiled, pure = (partial(_drivers, core) for core in ("", "c", "py"))
stock_engine, compiled_engine, pure_engine = (partial(Given, ("sqlalchemy",), core) for core in ("", "c", "py"))


def _planning(core: str) -> Given:
    """As `_drivers`, with the plans of a database."""
    from otel_fastpath.db.sqlite3.query_plans import DATABASE  # noqa: PLC0415  # not where stock is measured

    given = _drivers(core)
    connection = sqlite3.connect(":memory:")
    connection.cursor().execute("SELECT 1")
    given.plans = DATABASE.connection_plan(connection).plans
    return given


compiled_plans, pure_plans = (partial(_planning, core) for core in ("c", "py"))


def _request(connect: Any, name: str, **settings: Any) -> None:
    connection = connect(name, **settings)
    connection.cursor().execute("SELECT 1").close()
    connection.close()


def connection_bare(given: Given) -> None:
    """A connection, a query, and the end."""
    _request(given.connect, ":memory:")


def connection(given: Given) -> None:  # noqa: ARG001  # as the others
    """The same, instrumented."""
    _request(sqlite3.connect, ":memory:")


def server_bare(given: Given) -> None:
    """The same with a database that was never seen."""
    _request(given.connect, f"file:{next(given.numbers)}?mode=memory", uri=True)


def server(given: Given) -> None:
    """The same, instrumented."""
    _request(sqlite3.connect, f"file:{next(given.numbers)}?mode=memory", uri=True)


def text_bare(given: Given) -> None:
    """A text that was never seen."""
    given.bare_cursor.execute(f"SELECT {next(given.numbers)} -- {'x' * 64}")


def text(given: Given) -> None:
    """The same, instrumented."""
    given.cursor.execute(f"SELECT {next(given.numbers)} -- {'x' * 64}")


def plan(given: Given) -> None:
    """The plan of a short text that was never seen."""
    given.plans.plan(f"SELECT {next(given.numbers)}")


def long_plan(given: Given) -> None:
    """The plan of one with 8 kB, of which nothing is read in the place of stock's instrumentation."""
    given.plans.plan(f"SELECT {next(given.numbers)} {LONG}")


def name_bare(given: Given) -> None:
    """A command of redis whose name was never seen."""
    _command(given.client, f"module.command-{next(given.numbers)}", "a")


def name(given: Given) -> None:
    """The same, instrumented."""
    given.client.execute_command(f"module.command-{next(given.numbers)}", "a")


def nothing(given: Given) -> None:  # likewise
    """SQLAlchemy's classes are instrumented: its own work is in the figures, with stock and with ours."""


def checkout(given: Given) -> None:
    """A connection of an engine without a pool, and a statement."""
    with given.engine.connect() as connection:
        connection.execute(given.select).all()
