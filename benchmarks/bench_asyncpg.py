"""Our hooks around asyncpg with a stub for the driver, for the budgets. `asyncpg_table.py` uses the real driver.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'asyncpg*'

A stub replaces a function of asyncpg, so that only the hook is counted. The set-ups are `stock`, `pure` and those
that start with `compiled`.
"""

from __future__ import annotations

import contextlib
from asyncio import LifoQueue
from types import SimpleNamespace
from typing import Any

import databases

QUERY = "SELECT id, v FROM bench_t WHERE id = $1"
SETS = [(1,), (2,)]
# A query text that is seen for the first time: 8 kB of literals.
LITERALS = ("INSERT INTO bench_t VALUES " + ", ".join(f"({n}, 'name {n}', {n}.5)" for n in range(400)))[:8192]  # noqa: S608  # it is not executed
ROWS = [(1, "x")] * 50
ADDRESS = ("127.0.0.1", 5433)
PARAMS = SimpleNamespace(database="bench", user="bench")


async def _execute(_connection: Any, _query: Any, *_args: Any) -> str:
    return "SELECT 1"


async def _fetch(_connection: Any, _query: Any, *_args: Any) -> Any:
    return ROWS


async def _nothing(_connection: Any, _query: Any, *_args: Any) -> None:
    pass


async def _copy(_connection: Any, _table_name: Any, *, output: Any) -> str:  # noqa: ARG001  # asyncpg's name
    return "COPY 3"


def _statement_fetch(statement: Any, *args: Any) -> Any:
    # Asyncpg's function raises at once or returns a coroutine.
    return _fetch(statement, *args)


async def _round_trip(_cursor: Any, _most: Any, _timeout: Any) -> Any:
    return ROWS


async def _acquire(pool: Any, _timeout: Any) -> Any:
    return SimpleNamespace(_holder=pool._holders[0])


def _release(_holder: Any) -> None:
    pass


async def _initialize(_pool: Any) -> None:
    pass


async def _new_connection(pool: Any) -> Any:
    return pool._holders[0]._con


def _parse() -> Any:
    return [ADDRESS], PARAMS, None


async def _connect() -> None:
    from asyncpg import connect_utils  # noqa: PLC0415  # only where it is measured

    connect_utils._parse_connect_arguments()


def _stub() -> None:
    import asyncpg  # noqa: PLC0415  # only where it is measured
    from asyncpg import connect_utils, cursor, pool, prepared_stmt  # noqa: PLC0415  # likewise

    connection = asyncpg.Connection
    connection.execute, connection.fetch, connection.copy_from_table = _execute, _fetch, _copy
    connection.fetchrow = connection.executemany = connection.prepare = _nothing
    prepared_stmt.PreparedStatement.fetch = _statement_fetch
    cursor.BaseCursor._exec = _round_trip
    pool.Pool._acquire = _acquire
    pool.PoolConnectionHolder._release = _release
    pool.Pool._initialize, pool.Pool._get_new_connection = _initialize, _new_connection
    connect_utils._parse_connect_arguments = _parse
    asyncpg.connect = _connect


class Given:
    """The objects that the callables of this file use.

    Attributes:
        connection: A connection whose methods are the hooks around the stubs.
        statement: A prepared statement of the connection.
        cursor: An open cursor.
        bare_cursor: The same without a hook.
        pool: A pool with one connection.
        holder: The pool's holder of that connection.
        connect: The hook around `connect`.
        suppressing: Suppresses telemetry.
    """

    def __init__(self) -> None:
        import asyncpg  # noqa: PLC0415  # only where it is measured
        from asyncpg.pool import Pool, PoolConnectionHolder  # noqa: PLC0415  # likewise
        from opentelemetry.instrumentation.utils import suppress_instrumentation  # noqa: PLC0415  # likewise

        self.connection = new_connection()
        self.statement = _statement(self.connection)
        self.cursor, self.bare_cursor = _cursors(self.connection)
        self.pool = Pool.__new__(Pool)
        self.pool._queue = LifoQueue()
        self.holder = PoolConnectionHolder.__new__(PoolConnectionHolder)
        self.holder._pool, self.holder._con = self.pool, self.connection
        self.pool._holders = [self.holder]
        self.connect = asyncpg.connect
        self.suppressing = suppress_instrumentation


def new_connection() -> Any:
    """A connection that is not connected."""
    import asyncpg  # noqa: PLC0415  # only where it is measured

    made: Any = asyncpg.Connection.__new__(asyncpg.Connection)
    made._aborted = True
    made._pool_release_ctr = 0
    made._protocol = type("Protocol", (), {"is_connected": lambda _: True})()
    made._addr = ADDRESS
    made._params = PARAMS
    made._reset_query = "RESET"
    return made


def _statement(connection: Any) -> Any:
    from asyncpg.prepared_stmt import PreparedStatement  # noqa: PLC0415  # only where it is measured

    class Statement(PreparedStatement):
        def __del__(self) -> None:
            """There is nothing on a server."""

    made = Statement.__new__(Statement)
    made._connection, made._query = connection, QUERY
    return made


def _cursors(connection: Any) -> list[Any]:
    from asyncpg.cursor import CursorIterator  # noqa: PLC0415  # only where it is measured

    class Hooked(CursorIterator):
        def _check_conn_validity(self, _name: str) -> None:
            """There is no connection."""

        def __del__(self) -> None:
            """There is nothing on a server."""

    class Bare(Hooked):
        _exec = _round_trip

    made = [kind(connection, QUERY, None, (), None, len(ROWS), None) for kind in (Hooked, Bare)]
    for cursor in made:
        cursor._state, cursor._portal_name = object(), "portal"
    return made


def instrument(mode: str, core: str | None = None) -> None:
    """Instrument asyncpg in this mode: "bare", or "stock" or "ours" with options after a comma."""
    if mode.startswith("stock"):
        from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor  # noqa: PLC0415  # only where measured

        AsyncPGInstrumentor().instrument(**databases.providers(mode))
    elif mode.startswith("ours"):
        databases.instrument("asyncpg", mode, core)


def _given(mode: str, core: str | None = None) -> Given:
    _stub()
    instrument(mode, core)
    return Given()


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(_given)


def stock() -> Given:
    """The stock instrumentation, with traces."""
    return _given("stock")


def _finish(coroutine: Any) -> None:
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def fetchrow_bare(given: Given) -> None:
    """The stub."""
    _finish(_nothing(given.connection, QUERY, 1))


def fetchrow(given: Given) -> None:
    """The hook around it."""
    _finish(given.connection.fetchrow(QUERY, 1))


def fetchrow_suppressed_bare(given: Given) -> None:
    """The stub, with telemetry suppressed."""
    with given.suppressing():
        _finish(_nothing(given.connection, QUERY, 1))


def fetchrow_suppressed(given: Given) -> None:
    """The hook around it."""
    with given.suppressing():
        _finish(given.connection.fetchrow(QUERY, 1))


def fetch_bare(given: Given) -> None:
    """The stub."""
    _finish(_fetch(given.connection, QUERY, 1))


def fetch(given: Given) -> None:
    """The hook around it."""
    _finish(given.connection.fetch(QUERY, 1))


def transaction_bare(given: Given) -> None:
    """The stubs of the two queries of a transaction."""
    _finish(_execute(given.connection, "BEGIN;"))
    _finish(_execute(given.connection, "COMMIT;"))


def transaction(given: Given) -> None:
    """The hooks around them."""
    _finish(given.connection.execute("BEGIN;"))
    _finish(given.connection.execute("COMMIT;"))


def executemany_bare(given: Given) -> None:
    """The stub."""
    _finish(_nothing(given.connection, QUERY, SETS))


def executemany(given: Given) -> None:
    """The hook around it."""
    _finish(given.connection.executemany(QUERY, SETS))


def prepare_bare(given: Given) -> None:
    """The stub."""
    _finish(_nothing(given.connection, QUERY))


def prepare(given: Given) -> None:
    """The hook around it."""
    _finish(given.connection.prepare(QUERY))


def statement_fetch_bare(given: Given) -> None:
    """The stub."""
    _finish(_statement_fetch(given.statement, 1))


def statement_fetch(given: Given) -> None:
    """The hook around it."""
    _finish(given.statement.fetch(1))


def _iterate(cursor: Any) -> None:
    for _ in ROWS:
        _finish(cursor.__anext__())


def cursor_bare(given: Given) -> None:
    """A round trip and its rows without a hook."""
    _iterate(given.bare_cursor)


def cursor(given: Given) -> None:
    """The same with the hook around the round trip."""
    _iterate(given.cursor)


def copy_bare(given: Given) -> None:
    """The stub."""
    _finish(_copy(given.connection, "bench_t", output=None))


def copy(given: Given) -> None:
    """The hook around it."""
    _finish(given.connection.copy_from_table("bench_t", output=None))


def pool_bare(given: Given) -> None:
    """The stubs of acquiring and releasing."""
    _finish(_acquire(given.pool, None))
    _release(given.holder)


def pool(given: Given) -> None:
    """The hooks around them."""
    _finish(given.pool._acquire(None))
    given.holder._release()


def pool_made_bare(given: Given) -> None:
    """The stub of making a pool, with the pool's own queue."""
    given.pool._queue = LifoQueue()
    _finish(_initialize(given.pool))


def pool_made(given: Given) -> None:
    """The hook around it."""
    given.pool._queue = LifoQueue()
    _finish(given.pool._initialize())


def pool_connection_bare(given: Given) -> None:
    """The stub of making a pool's connection."""
    _finish(_new_connection(given.pool))


def pool_connection(given: Given) -> None:
    """The hook around it."""
    _finish(given.pool._get_new_connection())


def connect_bare(given: Given) -> None:  # noqa: ARG001  # as the others
    """The stub, and the function that it calls."""
    _finish(_connect())


def connect(given: Given) -> None:
    """The hook around it."""
    _finish(given.connect())


def scan_bare(given: Given) -> None:
    """The bare call without the scanner, which does nothing."""


def scan(given: Given) -> None:  # noqa: ARG001  # as the others
    """The work that is done once for each query text that is kept."""
    from otel_fastpath import compiled as core  # noqa: PLC0415  # only where it is measured

    core.load("db.queries.sql").scan(LITERALS)
