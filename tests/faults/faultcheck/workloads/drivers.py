"""sqlite3, SQLAlchemy on it, and psycopg on a real server: queries, batches, transactions, errors, with each option."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultcheck.host import Host

_TABLE = "CREATE TEMP TABLE t (id int PRIMARY KEY, v text)"


class Drivers(Workload):
    """The exporter, and the host's own span around some of the steps."""

    def prepare(self) -> None:
        """Where the spans go."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.tracer = self.telemetry.tracer_provider.get_tracer("host")

    def within(self, call: Callable[[], Any]) -> Any:
        """A call inside of the host's own span, which is the current one afterwards."""
        with self.tracer.start_as_current_span("host's own") as span:
            return call(), trace.get_current_span() is span


class SQLite3(Drivers):
    """sqlite3's connections and cursors."""

    about = (
        "otel_fastpath/db/sqlite3/",
        "otel_fastpath/db/dbapi",
        "otel_fastpath/db/cursors",
    )
    settings = {"sqlite3_options": "parameters,rows,sqlcommenter"}  # read only

    def run(self, host: Host) -> None:
        """On a database in memory."""
        connection = host.step("connect", sqlite3.connect, ":memory:")
        if connection is None:
            return
        for name, call in {
            "create": lambda: connection.execute(_TABLE).rowcount,
            "insert": lambda: connection.execute("INSERT INTO t VALUES (?, ?)", (1, "a")).rowcount,
            "many": lambda: connection.executemany("INSERT INTO t VALUES (?, 'm')", [(2,), (3,)]).rowcount,
            "select": lambda: connection.execute("SELECT id, v FROM t WHERE id < ?", (9,)).fetchall(),
            "again": lambda: connection.execute("SELECT id, v FROM t WHERE id < ?", (9,)).fetchall(),
            "named": lambda: connection.execute("SELECT v FROM t WHERE id = :id", {"id": 1}).fetchone(),
            "script": lambda: type(connection.executescript("DELETE FROM t WHERE id = 3; SELECT 1")).__name__,
            "cursor": lambda: self._cursor(connection),
            "commit": connection.commit,
            "rolled back": lambda: self._rolled_back(connection),
            "syntax error": lambda: connection.execute("SELEC 1"),
            "no such table": lambda: connection.execute("SELECT * FROM gone"),
            "bad arguments": lambda: connection.execute("SELECT ?", ()),
            "unique": lambda: connection.executemany("INSERT INTO t VALUES (?, 'u')", [(1,)]),
            "odd text": lambda: connection.execute(None),
            "within": lambda: self.within(lambda: connection.execute("SELECT 2").fetchone()),
            "close": connection.close,
            "closed": lambda: connection.execute("SELECT 3"),
        }.items():
            host.step(name, call)
        host.step("no such file", sqlite3.connect, "/nowhere/at/all.db")

    def _cursor(self, connection: Any) -> Any:
        with contextlib.closing(connection.cursor()) as cursor:
            return [row[0] for row in cursor.execute("SELECT id FROM t ORDER BY id")], cursor.fetchone()

    def _rolled_back(self, connection: Any) -> Any:
        try:
            with connection:
                connection.execute("INSERT INTO t VALUES (7, 'r')")
                raise LookupError  # noqa: TRY301  # the host's own
        except LookupError:
            return connection.execute("SELECT count(*) FROM t WHERE id = 7").fetchone()


class SQLAlchemy(Drivers):
    """SQLAlchemy's engines, connections, sessions and pools, on sqlite3."""

    about = ("otel_fastpath/db/sqlalchemy/", "otel_fastpath/db/outer.py")
    # Otherwise, a query that SQLAlchemy's wrapper does not begin would be sqlite3's.
    settings = {"sqlalchemy_options": "acquire,parameters,rows,sqlcommenter", "sqlite3": "off"}

    def run(self, host: Host) -> None:
        """On a database in memory, with a pool of one connection."""
        import sqlalchemy as sa

        one = {"poolclass": sa.pool.QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": 0.01}
        engine = host.step("engine", lambda: sa.create_engine("sqlite://", **one))
        if engine is None:
            return
        table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String))
        host.step("create", lambda: table.metadata.create_all(engine))
        for name, work in {
            "insert": lambda found: found.execute(table.insert(), [{"v": "a"}, {"v": "b"}]).rowcount,
            "select": lambda found: [tuple(row) for row in found.execute(sa.select(table).where(table.c.id < 9))],
            "again": lambda found: [tuple(row) for row in found.execute(sa.select(table).where(table.c.id < 9))],
            "text": lambda found: found.execute(sa.text("SELECT v FROM t WHERE id = :id"), {"id": 1}).scalar(),
            "driver's": lambda found: found.exec_driver_sql("SELECT count(*) FROM t").scalar(),
            "unique": lambda found: found.execute(table.insert(), {"id": 1, "v": "x"}),
            "syntax error": lambda found: found.execute(sa.text("SELEC 1")),
            "nested": self._nested,
            "in vain": lambda found: (found.execute(sa.select(1)).scalar(), engine.connect()),
        }.items():
            host.step(name, self._worked, engine, work)
        host.step(
            "within", self.within, lambda: self._worked(engine, lambda found: found.execute(sa.select(5)).scalar())
        )
        host.step("raises", self._raises, engine, host)
        host.step("session", self._session, engine, table)
        host.step("dispose", engine.dispose)
        host.step("no such file", lambda: sa.create_engine("sqlite:////nowhere/at/all.db").connect())

    def _worked(self, engine: Any, work: Callable[[Any], Any]) -> Any:
        with engine.begin() as connection:
            try:
                return work(connection)
            except Exception as error:
                # Its text names the query with its comment.
                return type(error).__name__

    def _nested(self, connection: Any) -> Any:
        try:
            with connection.begin_nested():
                raise LookupError  # noqa: TRY301  # the host's own
        except LookupError:
            return connection.exec_driver_sql("SELECT 4").scalar()

    def _raises(self, engine: Any, host: Host) -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("SELECT 6")
            raise host.error()

    def _session(self, engine: Any, table: Any) -> Any:
        from sqlalchemy import orm

        with orm.Session(engine) as session:
            session.execute(table.insert(), {"v": "s"})
            session.rollback()
            return session.scalars(table.select().order_by(table.c.id)).all()


class Psycopg(Drivers):
    """psycopg's connections, cursors, streams, COPY, pipelines and transactions, in both forms."""

    about = ("otel_fastpath/db/psycopg/",)
    settings = {"psycopg_options": "acquire,check,parameters,rows,sqlcommenter"}  # read only

    def run(self, host: Host) -> None:
        """On a connection of its own, and in an event loop."""
        import psycopg

        connection = host.step("connect", lambda: psycopg.connect(self.database_url, autocommit=True))
        if connection is not None:
            for name, call in self._steps(connection).items():
                host.step(name, named, psycopg.Error, call)
        host.step("no server", named, psycopg.Error, lambda: psycopg.connect("postgresql://x@127.0.0.1:1/x"))
        asyncio.run(self._main(host))

    def _steps(self, connection: Any) -> dict[str, Callable[[], Any]]:
        from psycopg import sql

        return {
            "create": lambda: connection.execute(_TABLE).statusmessage,
            "insert": lambda: connection.execute("INSERT INTO t VALUES (%s, %s)", (1, "a")).rowcount,
            "many": lambda: self._many(connection),
            "select": lambda: connection.execute("SELECT id, v FROM t WHERE id < %s ORDER BY id", [9]).fetchall(),
            "again": lambda: connection.execute("SELECT id, v FROM t WHERE id < %s ORDER BY id", [9]).fetchall(),
            "composed": lambda: connection.execute(sql.SQL("SELECT {}").format(sql.Literal(1))).fetchone(),
            "bytes": lambda: connection.execute(b"SELECT 3").fetchone(),
            "stream": lambda: list(connection.cursor().stream("SELECT generate_series(1, 3)")),
            "left stream": lambda: next(connection.cursor().stream("SELECT generate_series(1, 3)")),
            "copy": lambda: self._copy(connection),
            "server's cursor": lambda: self._server_cursor(connection),
            "transactions": lambda: self._transactions(connection),
            "pipeline": lambda: self._pipeline(connection),
            "syntax error": lambda: connection.execute("SELEC 1"),
            "no such table": lambda: connection.execute("SELECT * FROM gone"),
            "bad arguments": lambda: connection.execute("SELECT %s", []),
            "unique": lambda: connection.cursor().executemany("INSERT INTO t VALUES (%s, 'u')", [(1,)]),
            "stream fails": lambda: list(connection.cursor().stream("SELECT gone")),
            "copy fails": lambda: connection.cursor().copy("COPY gone TO STDOUT").__enter__(),
            "within": lambda: self.within(lambda: connection.execute("SELECT 2").fetchone()),
            "close": connection.close,
            "closed": lambda: connection.execute("SELECT 3"),
        }

    def _many(self, connection: Any) -> Any:
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO t VALUES (%s, 'm')", [(2,), (3,)])
        cursor.executemany("SELECT %s::int", [(1,), (2,)], returning=True)
        return cursor.fetchall(), cursor.nextset(), cursor.fetchall()

    def _copy(self, connection: Any) -> Any:
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            copy.write_row((30, "c"))
        with connection.cursor().copy("COPY (SELECT id FROM t WHERE id = 30) TO STDOUT") as copy:
            return list(copy.rows())

    def _server_cursor(self, connection: Any) -> Any:
        with connection.transaction(), connection.cursor("mine") as cursor:
            return cursor.execute("SELECT generate_series(5, 7)").fetchmany(2), cursor.fetchall()

    def _transactions(self, connection: Any) -> Any:
        with contextlib.suppress(LookupError), connection.transaction(), connection.transaction():
            connection.execute("INSERT INTO t VALUES (40, 't')")
            raise LookupError
        return connection.execute("SELECT count(*) FROM t WHERE id = 40").fetchone()

    def _pipeline(self, connection: Any) -> Any:
        with connection.pipeline() as pipeline:
            first, second = connection.execute("SELECT 1"), connection.execute("SELECT 2")
            pipeline.sync()
            return first.fetchone(), second.fetchone()

    async def _main(self, host: Host) -> None:
        import psycopg

        connection = await host.astep(
            "async: connect", lambda: psycopg.AsyncConnection.connect(self.database_url, autocommit=True)
        )
        if connection is None:
            return
        await host.astep("async: select", self._selected, connection)
        await host.astep("async: stream", self._streamed, connection)
        await host.astep("async: error", self._failed, connection)
        await host.astep("async: cancelled", self._cancelled, connection)
        await host.astep("async: close", connection.close)

    async def _selected(self, connection: Any) -> Any:
        async with connection.transaction():
            cursor = await connection.execute("SELECT %s::int", [1])
            return await cursor.fetchone()

    async def _streamed(self, connection: Any) -> Any:
        return [row async for row in connection.cursor().stream("SELECT generate_series(1, 3)")]

    async def _failed(self, connection: Any) -> Any:
        try:
            await connection.execute("SELECT * FROM gone")
        except Exception as error:
            return type(error).__name__

    async def _cancelled(self, connection: Any) -> Any:
        task = asyncio.ensure_future(connection.execute("SELECT pg_sleep(10)"))
        await asyncio.sleep(0.02)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"


def named(kind: type[BaseException], call: Callable[[], Any]) -> Any:
    """What a call returns, or the name of the library's exception that it raises: its text names the query."""
    try:
        return call()
    except kind as error:
        return type(error).__name__
