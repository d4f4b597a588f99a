"""asyncpg on a real server: each of its operations, with every option of the wrapper and with none."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

import asyncpg
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from faultcheck.host import Host

_TABLE = "CREATE TEMP TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT i, 'v' FROM generate_series(1, 10) i"


class Asyncpg(Workload):
    """Queries, statements, cursors, transactions, COPY, errors; no options."""

    about = (
        "otel_fastpath/wrapping/call",
        "otel_fastpath/wrapping/library.py",
        "otel_fastpath/db/asyncpg/",
        "otel_fastpath/db/queries/comments.py",
        "otel_fastpath/trace/context/scope.py",
    )

    def prepare(self) -> None:
        """Where the spans go."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))

    def begin(self) -> None:
        """What the host has around its queries."""
        span = self.telemetry.tracer_provider.get_tracer("host").start_span("host's own")
        self.outer = trace.set_span_in_context(span)

    def run(self, host: Host) -> None:
        """In an event loop of its own, on a connection of its own."""
        asyncio.run(self._main(host))

    async def _main(self, host: Host) -> None:
        connection = await host.astep("connect", self._connect)
        if connection is None:
            return
        token = context_api.attach(self.outer)
        await self._queries(host, connection)
        await self._statements(host, connection)
        await self._copies(host, connection)
        context_api.detach(token)
        await self._failures(host, connection)
        await host.astep("close", connection.close)

    async def _connect(self) -> Any:
        return await asyncpg.connect(self.database_url)

    async def _queries(self, host: Host, connection: Any) -> None:
        steps = {
            "execute": lambda: connection.execute(_TABLE),
            "execute with arguments": lambda: connection.execute("DELETE FROM t WHERE id = $1", 10),
            "fetch": lambda: connection.fetch("SELECT id, v FROM t WHERE id < $1 ORDER BY id", 3),
            "fetch again": lambda: connection.fetch("SELECT id, v FROM t WHERE id < $1 ORDER BY id", 3),
            "fetch literals": lambda: connection.fetch("SELECT v FROM t WHERE v = 'v' AND id = 3 /* said */"),
            "fetchrow": lambda: connection.fetchrow("SELECT id FROM t WHERE id = $1", 1),
            "fetchval": lambda: connection.fetchval("SELECT v FROM t WHERE id = $1", 2),
            "executemany": lambda: connection.executemany("INSERT INTO t VALUES ($1, 'm')", [(11,), (12,)]),
        }
        if hasattr(connection, "fetchmany"):
            steps["fetchmany"] = lambda: connection.fetchmany("SELECT $1::int", [(1,), (2,)])
        for name, call in steps.items():
            await host.astep(name, _plain, call)
        await host.astep("current span", self._current, connection)
        await host.astep("in transactions", self._transactions, connection)

    async def _current(self, connection: Any) -> Any:
        before = trace.get_current_span()
        await connection.fetchval("SELECT 1")
        return trace.get_current_span() is before

    async def _transactions(self, connection: Any) -> Any:
        async with connection.transaction():
            await connection.execute("INSERT INTO t VALUES (20, 't')")
            try:
                async with connection.transaction():
                    await connection.execute("INSERT INTO t VALUES (21, 't')")
                    raise LookupError  # noqa: TRY301  # the host's own
            except LookupError:
                pass
        return await connection.fetchval("SELECT count(*) FROM t WHERE id IN (20, 21)")

    async def _statements(self, host: Host, connection: Any) -> None:
        statement = await host.astep(
            "prepare", lambda: connection.prepare("SELECT id FROM t WHERE id < $1 ORDER BY id")
        )
        if statement is not None:
            await host.astep("prepared fetch", _plain, lambda: statement.fetch(3))
            await host.astep("prepared fetchrow", _plain, lambda: statement.fetchrow(3))
            await host.astep("prepared fetchval", _plain, lambda: statement.fetchval(3))
            await host.astep("explain", self._explain, statement)
            await host.astep("prepared executemany", _plain, lambda: statement.executemany([(1,), (2,)]))
        await host.astep("cursor", self._cursor, connection)
        await host.astep("iterated", self._iterated, connection)

    async def _explain(self, statement: Any) -> Any:
        return type(await statement.explain(3)).__name__

    async def _cursor(self, connection: Any) -> Any:
        async with connection.transaction():
            cursor = await connection.cursor("SELECT id FROM t ORDER BY id")
            return [_rows(await cursor.fetch(2)), _rows(await cursor.fetchrow()), await cursor.forward(1)]

    async def _iterated(self, connection: Any) -> Any:
        async with connection.transaction():
            return [row["id"] async for row in connection.cursor("SELECT id FROM t WHERE id < $1 ORDER BY id", 4)]

    async def _copies(self, host: Host, connection: Any) -> None:
        records = [(30, "a"), (31, "b")]
        await host.astep("copy records", lambda: connection.copy_records_to_table("t", records=records))
        await host.astep("copy to", lambda: connection.copy_to_table("t", source=io.BytesIO(b"40\tx\n")))
        await host.astep("copy from", self._copy_from, connection)
        await host.astep("copy a query", self._copy_query, connection)

    async def _copy_from(self, connection: Any) -> Any:
        output = io.BytesIO()
        return await connection.copy_from_table("t", output=output), len(output.getvalue())

    async def _copy_query(self, connection: Any) -> Any:
        output = io.BytesIO()
        query = "SELECT id FROM t WHERE id = $1"
        return await connection.copy_from_query(query, 30, output=output), output.getvalue()

    async def _failures(self, host: Host, connection: Any) -> None:
        await host.astep("syntax error", lambda: connection.fetch("SELEC 1"))
        await host.astep("no such table", lambda: connection.execute("SELECT * FROM gone"))
        await host.astep("bad argument", lambda: connection.fetch("SELECT $1::int", "x"))
        await host.astep("no argument", connection.fetch)
        await host.astep("unique", lambda: connection.executemany("INSERT INTO t VALUES ($1)", [(1,), (1,)]))
        await host.astep("prepare error", lambda: connection.prepare("SELEC 2"))
        await host.astep("cursor error", self._cursor_error, connection)
        await host.astep("copy error", lambda: connection.copy_from_table("gone", output=io.BytesIO()))
        await host.astep("timeout", lambda: connection.fetch("SELECT pg_sleep(10)", timeout=0.005))
        await host.astep("still there", lambda: connection.fetchval("SELECT 5"))

    async def _cursor_error(self, connection: Any) -> Any:
        async with connection.transaction():
            return await connection.cursor("SELEC 3")


class AsyncpgOptions(Asyncpg):
    """The same with everything that can be asked for."""

    settings = {"asyncpg_options": "acquire,parameters,reset,rows,sqlcommenter"}  # read only


class AsyncpgPools(Asyncpg):
    """Pools."""

    settings = {"asyncpg_options": "acquire,reset"}  # read only

    async def _main(self, host: Host) -> None:
        await host.astep("no server", lambda: asyncpg.connect("postgresql://x@127.0.0.1:1/x"))
        await host.astep("not understood", lambda: asyncpg.connect("nonsense"))
        pool = await host.astep("pool", self._pool)
        if pool is None:
            return
        await host.astep("acquired", self._acquired, pool)
        await host.astep("acquired by hand", self._by_hand, pool)
        await host.astep("through the pool", lambda: pool.fetchval("SELECT 2"))
        await host.astep("fails in the pool", lambda: pool.execute("SELEC 1"))
        await host.astep("raises inside", self._raises, pool, host)
        await host.astep("waited for", self._waited, pool)
        await host.astep("in vain", self._in_vain, pool)
        await host.astep("expired", pool.expire_connections)
        await host.astep("after that", lambda: pool.fetchval("SELECT 3"))
        await host.astep("closed", pool.close)
        await host.astep("too late", pool.acquire)

    async def _pool(self) -> Any:
        return await asyncpg.create_pool(self.database_url, min_size=1, max_size=1)

    async def _acquired(self, pool: Any) -> Any:
        async with pool.acquire() as connection:
            return await connection.fetchval("SELECT 1")

    async def _by_hand(self, pool: Any) -> Any:
        connection = await pool.acquire()
        found = await connection.fetchval("SELECT 1")
        await pool.release(connection)
        return found

    async def _raises(self, pool: Any, host: Host) -> None:
        async with pool.acquire() as connection:
            await connection.fetchval("SELECT 1")
            raise host.error()

    async def _waited(self, pool: Any) -> Any:
        async with pool.acquire() as connection:
            waiting = asyncio.ensure_future(pool.fetchval("SELECT 4"))
            await connection.fetchval("SELECT 1")
        return await waiting

    async def _in_vain(self, pool: Any) -> Any:
        async with pool.acquire():
            return await pool.acquire(timeout=0.01)


async def _plain(call: Any) -> Any:
    return _rows(await call())


def _rows(found: Any) -> Any:
    if isinstance(found, list):
        return [_rows(each) for each in found]
    return tuple(found.values()) if isinstance(found, asyncpg.Record) else found
