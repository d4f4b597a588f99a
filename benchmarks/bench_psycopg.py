"""Our hooks around psycopg with a stub for the driver, for the budgets.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'psycopg,*'

A stub replaces a function of psycopg, so that only the hook is counted. The set-ups are `stock`, `pure` and those
that start with `compiled`.
"""

from __future__ import annotations

import contextlib
from collections import deque
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import databases

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY = "SELECT id, v FROM bench_t WHERE id = %s"
PARAMETERS = (1,)
SETS = [(1,), (2,)]
ROWS = [(1, "x")] * 50
INFO = SimpleNamespace(host="127.0.0.1", port=5433, dbname="bench", user="bench")
RESULT = SimpleNamespace(status=2, ntuples=1)
# libpq's numbers: in a transaction; the connection works
IN_TRANSACTION, OK = 2, 0


class Connection:
    """What the hooks read of a connection."""

    def __init__(self) -> None:
        self.closed = False
        self.info = INFO
        self.pgconn = SimpleNamespace(transaction_status=IN_TRANSACTION, status=OK)
        self._pipeline: Any = None


def _execute(cursor: Any, _query: Any, _params: Any = None) -> Any:
    pipeline = cursor._conn._pipeline
    if pipeline is not None:
        pipeline.result_queue.append((cursor, None))
    return cursor


async def _execute_async(cursor: Any, _query: Any, _params: Any = None) -> Any:
    return cursor


def _executemany(_cursor: Any, _query: Any, _params_seq: Any) -> None:
    pass


def _stream(_cursor: Any, _query: Any, _params: Any = None) -> Iterator[Any]:
    yield from ROWS


@contextlib.contextmanager
def _copy(cursor: Any, _statement: Any) -> Iterator[Any]:
    yield cursor


def _fetch(_cursor: Any, _number: Any) -> Any:
    yield 1
    return ROWS


def _commit(_connection: Any) -> None:
    pass


def _begin(transaction: Any) -> Any:
    return transaction


def _connect(_class: Any) -> Connection:
    return Connection()


def _process(_pipeline: Any, _queued: Any, _results: Any) -> None:
    pass


def _getconn(pool: Any) -> Any:
    return pool.borrowed


def _putconn(_pool: Any, _connection: Any) -> None:
    pass


def _stub() -> None:
    import psycopg  # noqa: PLC0415  # only where it is measured
    import psycopg_pool  # noqa: PLC0415  # likewise

    cursor: Any = psycopg.Cursor
    cursor.execute, cursor.executemany, cursor.stream, cursor.copy = _execute, _executemany, _stream, _copy
    psycopg.AsyncCursor.execute = _execute_async
    psycopg.ServerCursor._fetch_gen = _fetch
    psycopg.Connection.commit = _commit
    psycopg.Connection.connect = classmethod(_connect)
    psycopg.Transaction.__enter__ = _begin
    psycopg.Pipeline._process_results = _process
    psycopg_pool.ConnectionPool.getconn, psycopg_pool.ConnectionPool.putconn = _getconn, _putconn


class Given:
    """The objects that the callables of this file use.

    Attributes:
        cursor: A cursor whose methods are the hooks around the stubs.
        async_cursor: Likewise, of an asynchronous connection.
        in_pipeline: Likewise, of a connection that has a pipeline.
        pipeline: That pipeline.
        server_cursor: A server-side cursor that was declared.
        transaction: A transaction that has not begun.
        pool: A pool with one connection.
        connect: The hook around `connect`.
        commit: The hook around `commit`.
        connection: A connection.
        stock: A cursor that the stock instrumentation made.
        request: A span that is current, for some set-ups.
    """

    def __init__(self) -> None:
        import psycopg  # noqa: PLC0415  # only where it is measured
        import psycopg_pool  # noqa: PLC0415  # likewise
        from opentelemetry.instrumentation.psycopg import _new_cursor_factory  # noqa: PLC0415  # likewise

        class ServerCursor(psycopg.ServerCursor[Any]):
            def __del__(self) -> None:
                """There is nothing on a server."""

        self.connection = Connection()
        self.request: Any = None
        self.cursor = _cursor(psycopg.Cursor, self.connection)
        self.async_cursor = _cursor(psycopg.AsyncCursor, self.connection)
        self.server_cursor = _cursor(ServerCursor, self.connection)
        self.stock = _cursor(_new_cursor_factory(), self.connection)
        self.in_pipeline = _cursor(psycopg.Cursor, Connection())
        self.pipeline = psycopg.Pipeline.__new__(psycopg.Pipeline)
        self.pipeline.result_queue = deque()
        self.in_pipeline._conn._pipeline = self.pipeline
        self.transaction = psycopg.Transaction.__new__(psycopg.Transaction)
        self.transaction._conn, self.transaction.pgconn = self.connection, SimpleNamespace(transaction_status=0)
        self.pool = psycopg_pool.ConnectionPool.__new__(psycopg_pool.ConnectionPool)
        self.pool._closed, self.pool.name, self.pool.borrowed = True, "bench", self.connection
        self.connect = psycopg.Connection.connect
        self.commit = psycopg.Connection.commit


def _cursor(kind: Any, connection: Any) -> Any:
    made = kind.__new__(kind)
    made._conn, made._results, made._rowcount, made.pgresult = connection, [RESULT], 1, None
    return made


def _given(mode: str, core: str) -> Given:
    _stub()
    databases.instrument("psycopg", mode, core)
    return Given()


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(_given)


def _in_request(mode: str, core: str) -> Given:
    """The same inside of a server span."""
    given = _given(mode, core)
    from opentelemetry import context, trace  # noqa: PLC0415  # only where it is measured
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # likewise

    request = TracerProvider().get_tracer("bench").start_span("request", kind=trace.SpanKind.SERVER)
    context.attach(trace.set_span_in_context(request))
    given.request = request
    return given


# The query is neither slow nor repeated often enough to be told.
request_plain, request_plain_py = (partial(_in_request, "ours", core) for core in ("c", "py"))
request_slow, request_slow_py = (partial(_in_request, "ours, slow=1m", core) for core in ("c", "py"))
request_repeats, request_repeats_py = (partial(_in_request, f"ours, repeats={10**9 - 1}", core) for core in ("c", "py"))


def stock() -> Given:
    """The stock instrumentation's cursors, with traces."""
    _stub()
    given = Given()
    import psycopg  # noqa: PLC0415  # only where it is measured
    from opentelemetry.instrumentation.psycopg import _new_cursor_factory  # noqa: PLC0415  # likewise

    factory = _new_cursor_factory(
        base_factory=psycopg.Cursor, tracer_provider=databases.providers("stock")["tracer_provider"]
    )
    given.cursor = _cursor(factory, given.connection)
    return given


def _finish(coroutine: Any) -> None:
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def execute_bare(given: Given) -> None:
    """The stub."""
    _execute(given.cursor, QUERY, PARAMETERS)


def execute(given: Given) -> None:
    """The hook around it."""
    given.cursor.execute(QUERY, PARAMETERS)


def async_execute_bare(given: Given) -> None:
    """The stub."""
    _finish(_execute_async(given.async_cursor, QUERY, PARAMETERS))


def async_execute(given: Given) -> None:
    """The hook around it."""
    _finish(given.async_cursor.execute(QUERY, PARAMETERS))


def stock_execute_bare(given: Given) -> None:
    """The stub."""
    _execute(given.stock, QUERY, PARAMETERS)


def stock_execute(given: Given) -> None:
    """The hook around it, below stock's."""
    given.stock.execute(QUERY, PARAMETERS)


def executemany_bare(given: Given) -> None:
    """The stub."""
    _executemany(given.cursor, QUERY, SETS)


def executemany(given: Given) -> None:
    """The hook around it."""
    given.cursor.executemany(QUERY, SETS)


def stream_bare(given: Given) -> None:
    """The stub, and its rows."""
    for _ in _stream(given.cursor, QUERY):
        pass


def stream(given: Given) -> None:
    """The hook around it."""
    for _ in given.cursor.stream(QUERY):
        pass


def copy_bare(given: Given) -> None:
    """The stub."""
    with _copy(given.cursor, "COPY bench_t FROM STDIN"):
        pass


def copy(given: Given) -> None:
    """The hook around it."""
    with given.cursor.copy("COPY bench_t FROM STDIN"):
        pass


def server_cursor_bare(given: Given) -> None:
    """The stub of a round trip."""
    for _ in _fetch(given.server_cursor, 50):
        pass


def server_cursor(given: Given) -> None:
    """The hook around it."""
    for _ in given.server_cursor._fetch_gen(50):
        pass


def transaction_bare(given: Given) -> None:
    """The stubs of a transaction's begin and of a commit."""
    _begin(given.transaction)
    _commit(given.connection)


def transaction(given: Given) -> None:
    """The hooks around them."""
    given.transaction.__enter__()
    given.commit(given.connection)


def pipeline_bare(given: Given) -> None:
    """The stub of sending two queries, and of their results."""
    for _ in SETS:
        _execute(given.in_pipeline, QUERY, PARAMETERS)
    while given.pipeline.result_queue:
        _process(given.pipeline, given.pipeline.result_queue.popleft(), [RESULT])


def pipeline(given: Given) -> None:
    """The hooks around them."""
    for _ in SETS:
        given.in_pipeline.execute(QUERY, PARAMETERS)
    while given.pipeline.result_queue:
        given.pipeline._process_results(given.pipeline.result_queue.popleft(), [RESULT])


def connect_bare(given: Given) -> None:  # noqa: ARG001  # as the others
    """The stub."""
    _connect(None)


def connect(given: Given) -> None:
    """The hook around it."""
    given.connect()


def pool_bare(given: Given) -> None:
    """The stubs of borrowing and returning a connection."""
    _putconn(given.pool, _getconn(given.pool))


def pool(given: Given) -> None:
    """The hooks around them."""
    given.pool.putconn(given.pool.getconn())
