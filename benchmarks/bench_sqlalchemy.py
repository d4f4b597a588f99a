"""Our hooks around SQLAlchemy on sqlite in memory, for the budgets.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'sqlalchemy*'

The bare calls go to an engine of classes that have SQLAlchemy's own methods. The set-ups are `stock`, `pure` and
those that start with `compiled`.
"""

from __future__ import annotations

from typing import Any

import databases

ROWS = [{"v": str(number)} for number in range(10)]
_HOOKED = ("_exec_single_context", "_exec_insertmany_context", "_cursor_execute", "_commit_impl", "_rollback_impl")


def _original(function: Any) -> Any:
    return getattr(function, "__wrapped__", function)


def bare(engine: Any) -> Any:
    """The engine without hooks, whatever is instrumented."""
    from sqlalchemy.engine import base  # noqa: PLC0415  # only where it is measured
    from sqlalchemy.pool.base import _ConnectionRecord  # noqa: PLC0415  # likewise

    record = type("Record", (_ConnectionRecord,), {"__slots__": (), "checkin": _original(_ConnectionRecord.checkin)})
    methods = {name: _original(getattr(base.Connection, name)) for name in _HOOKED}
    connection = type("Connection", (base.Connection,), methods)
    # The stock instrumentation patches `connect` of all engines.
    kind: dict[str, Any] = {name: _original(getattr(base.Engine, name)) for name in ("raw_connection", "connect")}
    kind["_connection_cls"] = connection
    engine.__class__ = type("Engine", (base.Engine,), kind)
    engine.connect().close()
    for each in engine.pool._pool.queue:
        each.__class__ = record
    return engine


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: An open connection without our hooks.
        hooked: One with them.
        suppressing: Suppresses telemetry.
    """

    def __init__(self) -> None:
        import sqlalchemy as sa  # noqa: PLC0415  # only where it is measured
        from opentelemetry.instrumentation.utils import suppress_instrumentation  # noqa: PLC0415  # likewise

        table = sa.Table(
            "bench_t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String)
        )
        self.select = sa.select(table).where(table.c.id == 1)
        self.insert = table.insert().returning(table.c.id)
        self.suppressing = suppress_instrumentation
        engines = [sa.create_engine("sqlite://", poolclass=sa.pool.QueuePool) for _ in range(2)]
        bare(engines[0])
        self.bare, self.hooked = (engine.connect() for engine in engines)
        for connection in (self.bare, self.hooked):
            table.create(connection)
            connection.execute(table.insert(), ROWS)
            connection.commit()
            # In a transaction from now on.
            connection.execute(self.select).all()
        self.bare_engine, self.hooked_engine = (_once_more(engine, table) for engine in engines)
        self.record = _record(sa)
        self.bare_connect = _original(type(self.record)._ConnectionRecord__connect)


def _once_more(engine: Any, table: Any) -> Any:
    """Another engine of the same class whose one connection is in the pool, with the table."""
    import sqlalchemy as sa  # noqa: PLC0415  # only where it is measured

    made = sa.create_engine("sqlite://", poolclass=sa.pool.QueuePool, pool_size=1)
    if type(engine) is not sa.Engine:
        bare(made)
    with made.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), ROWS)
    return made


def _record(sa: Any) -> Any:
    """The record of a connection that is made again and again."""
    import sqlite3  # noqa: PLC0415  # only where it is measured

    connection = sqlite3.connect(":memory:", check_same_thread=False)
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.QueuePool, creator=lambda: connection)
    engine.connect().close()
    return engine.pool._pool.queue[0]


def instrument(mode: str, core: str | None = None) -> None:
    """Instrument SQLAlchemy in this mode: "bare", or "stock" or "ours" with options after a comma."""
    if mode.startswith("stock"):
        from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor  # noqa: PLC0415  # where measured

        SQLAlchemyInstrumentor().instrument(skip_dep_check=True, **databases.providers(mode))
    elif mode.startswith("ours"):
        databases.instrument("sqlalchemy", mode, core)


def _given(mode: str, core: str | None = None) -> Given:
    import sqlalchemy  # noqa: F401, PLC0415  # imported so that it is patched

    instrument(mode, core)
    return Given()


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(_given)


def select_bare(given: Given) -> None:
    """A select with a parameter on an open connection."""
    given.bare.execute(given.select)


def select(given: Given) -> None:
    """The same with our hooks."""
    given.hooked.execute(given.select)


def select_suppressed_bare(given: Given) -> None:
    """The same without them, with telemetry suppressed."""
    with given.suppressing():
        given.bare.execute(given.select)


def select_suppressed(given: Given) -> None:
    """The same with our hooks."""
    with given.suppressing():
        given.hooked.execute(given.select)


def connect_and_select_bare(given: Given) -> None:
    """A checkout, a select, a rollback, and the return to the pool."""
    with given.bare_engine.connect() as connection:
        connection.execute(given.select)


def connect_and_select(given: Given) -> None:
    """The same with our hooks."""
    with given.hooked_engine.connect() as connection:
        connection.execute(given.select)


def insertmany_bare(given: Given) -> None:
    """Ten rows by insertmanyvalues."""
    given.bare.execute(given.insert, ROWS)


def insertmany(given: Given) -> None:
    """The same with our hooks."""
    given.hooked.execute(given.insert, ROWS)


def commit_bare(given: Given) -> None:
    """A commit of nothing."""
    given.bare._commit_impl()


def commit(given: Given) -> None:
    """The same with our hooks."""
    given.hooked._commit_impl()


def connect_bare(given: Given) -> None:
    """The pool makes a connection; the driver's is ready."""
    given.bare_connect(given.record)


def connect(given: Given) -> None:
    """The same with our hooks."""
    given.record._ConnectionRecord__connect()
