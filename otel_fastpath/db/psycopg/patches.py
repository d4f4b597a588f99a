"""The patches of psycopg and psycopg_pool, and the hook of this folder that each one uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import calls
from otel_fastpath.db.psycopg import connecting, hooks, pipelines, pools, reading, transactions
from otel_fastpath.db.psycopg.plans import DATABASE
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

    Make = Callable[[Any, Config], Any]

_PSYCOPG: Final = ("psycopg>=3.1,<4",)
# Before, an error of one of a pipeline's commands hid the results of the others.
_PIPELINES: Final = ("psycopg>=3.2,<4",)
_POOL: Final = ("psycopg-pool>=3.1,<4",)
_STOCK: Final = ("opentelemetry-instrumentation-psycopg>=0.45b0",)


def _hook(make: Callable[..., Any], *first: Any) -> Make:
    """The `make` of a patch: returns `make(*first, original)`. Each call reads the set-up in `DATABASE.active`."""
    return lambda original, _settings: make(*first, original)


def _around(original: Any, _settings: Config) -> Any:
    """Wrap the declaration of a server-side cursor."""
    wrap = calls.around if hooks.is_async(original) else calls.around_sync
    return wrap(DATABASE, reading.of_declaration, calls.no_rows, original)


def _patch(name: str, target: str, why: str, hook: Make, budget: str, requires: tuple[str, ...] = _PSYCOPG) -> Patch:
    # Below "psycopg", so that it is applied once the whole package is imported.
    return Patch(
        name=f"psycopg.{name}",
        target=target,
        why=why,
        make=hook,
        requires=requires,
        budgets=(f"psycopg, {budget}",),
    )


_QUERY: Final = "A query is a span, which ends when its result is there, also in a pipeline."
_BATCH: Final = "A query with many sets of parameters is one span."
_STREAM: Final = "A stream of rows is a span, from the first row to the last."
_COPY: Final = "A COPY is a span."
_TRIP: Final = "A server-side cursor's round trip is a span; the rows that it brought cost nothing."
_TRANSACTION: Final = "What begins or ends a transaction, or sets a mark in it, is a span."
_PIPELINE: Final = "Says when the results of a pipeline arrive, where the spans of its queries end."

_METHODS: Final[tuple[tuple[str, str, Make, Make, str], ...]] = (
    *(
        (name, why, hook, hook, name)
        for name, why, hook in (
            ("execute", _QUERY, _hook(hooks.around_execute)),
            ("executemany", _BATCH, _hook(hooks.around_executemany)),
        )
    ),
    ("stream", _STREAM, _hook(reading.make_stream), _hook(reading.make_async_stream), "stream of 50 rows"),
    ("copy", _COPY, _hook(reading.make_copy), _hook(reading.make_async_copy), "copy"),
)
_TRIPS: Final[tuple[tuple[str, str, Make, str], ...]] = (
    ("execute", _TRIP, _around, "server cursor of 50 rows in a round trip"),
    ("_fetch_gen", _TRIP, _hook(reading.make_trip), "server cursor of 50 rows in a round trip"),
    ("_scroll_gen", _TRIP, _hook(reading.make_trip), "server cursor of 50 rows in a round trip"),
)
_COMMANDS: Final = (
    ("commit", transactions.commit),
    ("rollback", transactions.rollback),
    ("tpc_begin", transactions.begin_prepared),
    ("tpc_prepare", transactions.prepare),
    ("tpc_commit", transactions.commit_prepared),
    ("tpc_rollback", transactions.rollback_prepared),
)
_RESULTS: Final = (
    ("_process_results", pipelines.make_process),
    ("_exit", pipelines.make_exit),
)
_BOUNDARIES: Final = (
    ("transaction.begin", "Transaction.__enter__", transactions.enter),
    ("transaction.end", "Transaction.__exit__", transactions.leave),
    ("async_transaction.begin", "AsyncTransaction.__aenter__", transactions.enter),
    ("async_transaction.end", "AsyncTransaction.__aexit__", transactions.leave),
)
_POOLS: Final = (
    (
        "acquire",
        "getconn",
        "Waiting for a connection is a metric, and a span for who asked for it.",
        pools.make_getconn,
    ),
    ("release", "putconn", "How long a connection was borrowed is a metric.", pools.make_putconn),
    ("connect", "_connect", "How long it took to make a pool's connection is a metric.", pools.make_connect),
    ("start", "_start_workers", "A pool's connects are in no trace, not in that of who opened it.", pools.make_start),
)

PATCHES: Final = (
    *(
        _patch(f"{prefix}cursor.{name}", f"psycopg:{owner}.{name}", why, make, budget)
        for name, why, hook, async_hook, budget in _METHODS
        for prefix, owner, make in (("", "Cursor", hook), ("async_", "AsyncCursor", async_hook))
    ),
    *(
        _patch(f"{prefix}server_cursor.{name.strip('_')}", f"psycopg:{owner}.{name}", why, hook, budget)
        for prefix, owner in (("", "ServerCursor"), ("async_", "AsyncServerCursor"))
        for name, why, hook, budget in _TRIPS
    ),
    *(
        _patch(
            f"{prefix}{name}",
            f"psycopg:{owner}.{name}",
            _TRANSACTION,
            _hook(transactions.around, command),
            "transaction",
        )
        for prefix, owner in (("", "Connection"), ("async_", "AsyncConnection"))
        for name, command in _COMMANDS
    ),
    *(
        _patch(name, f"psycopg:{target}", _TRANSACTION, _hook(transactions.around, command), "transaction")
        for name, target, command in _BOUNDARIES
    ),
    *(
        _patch(
            f"{prefix}pipeline.{name.strip('_')}",
            f"psycopg:{owner}.{name}",
            _PIPELINE,
            _hook(make),
            "pipeline of two",
            _PIPELINES,
        )
        for prefix, owner in (("", "Pipeline"), ("async_", "AsyncPipeline"))
        for name, make in _RESULTS
    ),
    *(
        _patch(name, f"psycopg:{target}", "Each connect is a span.", _hook(make), "connect")
        for name, target, make in (
            ("connect", "connect", connecting.make_module_connect),
            ("connect.class", "Connection.connect", connecting.make_connect),
            ("connect.async", "AsyncConnection.connect", connecting.make_connect),
        )
    ),
    *(
        _patch(f"{prefix}pool.{name}", f"psycopg_pool:{owner}.{method}", why, _hook(make), "pool", _POOL)
        for prefix, owner in (("", "ConnectionPool"), ("async_", "AsyncConnectionPool"))
        for name, method, why, make in _POOLS
    ),
    *(
        _patch(
            f"official.{name}",
            f"opentelemetry.instrumentation.psycopg:CursorTracer.{method}",
            "Cursors that the stock instrumentation made before it was replaced: one span for each query.",
            _hook(make),
            "execute of a stock cursor",
            _STOCK,
        )
        for name, method, make in (
            ("execution", "traced_execution", hooks.make_untraced),
            ("async_execution", "traced_execution_async", hooks.make_untraced_async),
        )
    ),
)
