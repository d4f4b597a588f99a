"""The patches of psycopg and psycopg_pool, and the hook of this folder that each one uses."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import call_wrappers
from otel_fastpath.db.psycopg import connecting, hooks, pipelines, pools, result_parts, transactions
from otel_fastpath.db.psycopg.query_plans import DATABASE

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[[Any], Any]

_PSYCOPG: Final = ("psycopg>=3.1,<4",)
# Before, an error of one of a pipeline's commands hid the results of the others.
_PIPELINES: Final = ("psycopg>=3.2,<4",)
_POOL: Final = ("psycopg-pool>=3.1,<4",)
_STOCK: Final = ("opentelemetry-instrumentation-psycopg>=0.45b0",)


def _around(original: Any) -> Any:
    """Wrap the declaration of a server-side cursor."""
    return call_wrappers.around_sync(DATABASE, result_parts.of_declaration, call_wrappers.no_rows, original)


_QUERY: Final = "A query is a span, which ends when its result is there, also in a pipeline."
_BATCH: Final = "A query with many sets of parameters is one span."
_STREAM: Final = "A stream of rows is a span, from the first row to the last."

_METHODS: Final[tuple[tuple[str, str, Make, Make, str], ...]] = (
    ("execute", _QUERY, hooks.around_execute, hooks.around_execute, "execute"),
    ("executemany", _BATCH, hooks.around_executemany, hooks.around_executemany, "executemany"),
    ("stream", _STREAM, result_parts.make_stream, result_parts.make_async_stream, "stream of 50 rows"),
    ("copy", "A COPY is a span.", result_parts.make_copy, result_parts.make_async_copy, "copy"),
)
_TRIPS: Final = (("execute", _around), ("_fetch_gen", result_parts.make_trip), ("_scroll_gen", result_parts.make_trip))
_COMMANDS: Final = tuple(
    (f"{prefix}{name}", f"{owner}.{name}", command)
    for prefix, owner in (("", "Connection"), ("async_", "AsyncConnection"))
    for name, command in (
        ("commit", transactions.commit),
        ("rollback", transactions.rollback),
        ("tpc_begin", call_wrappers.always("BEGIN")),
        ("tpc_prepare", call_wrappers.always("PREPARE TRANSACTION")),
        ("tpc_commit", transactions.commit_prepared),
        ("tpc_rollback", transactions.rollback_prepared),
    )
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

# Below "psycopg", so that they are applied once the whole package is imported.
PATCHES: Final = (
    *(
        DATABASE.patch(f"{prefix}cursor.{name}", f"psycopg:{owner}.{name}", why, make, budget, requires=_PSYCOPG)
        for name, why, hook, async_hook, budget in _METHODS
        for prefix, owner, make in (("", "Cursor", hook), ("async_", "AsyncCursor", async_hook))
    ),
    *(
        DATABASE.patch(
            f"{prefix}server_cursor.{name.strip('_')}",
            f"psycopg:{owner}.{name}",
            "A server-side cursor's round trip is a span; the rows that it brought cost nothing.",
            make,
            "server cursor of 50 rows in a round trip",
            requires=_PSYCOPG,
        )
        for prefix, owner in (("", "ServerCursor"), ("async_", "AsyncServerCursor"))
        for name, make in _TRIPS
    ),
    *(
        DATABASE.patch(
            name,
            f"psycopg:{target}",
            "What begins or ends a transaction, or sets a mark in it, is a span.",
            functools.partial(transactions.around, command),
            "transaction",
            requires=_PSYCOPG,
        )
        for name, target, command in (*_COMMANDS, *_BOUNDARIES)
    ),
    *(
        DATABASE.patch(
            f"{prefix}pipeline.{name.strip('_')}",
            f"psycopg:{owner}.{name}",
            "Says when the results of a pipeline arrive, where the spans of its queries end.",
            make,
            "pipeline of two",
            requires=_PIPELINES,
        )
        for prefix, owner in (("", "Pipeline"), ("async_", "AsyncPipeline"))
        for name, make in (("_process_results", pipelines.make_process), ("_exit", pipelines.make_exit))
    ),
    *(
        DATABASE.patch(name, f"psycopg:{target}", "Each connect is a span.", make, "connect", requires=_PSYCOPG)
        for name, target, make in (
            ("connect", "connect", connecting.make_module_connect),
            ("connect.class", "Connection.connect", connecting.make_connect),
            ("connect.async", "AsyncConnection.connect", connecting.make_connect),
        )
    ),
    *(
        DATABASE.patch(f"{prefix}pool.{name}", f"psycopg_pool:{owner}.{method}", why, make, "pool", requires=_POOL)
        for prefix, owner in (("", "ConnectionPool"), ("async_", "AsyncConnectionPool"))
        for name, method, why, make in _POOLS
    ),
    *(
        DATABASE.patch(
            f"official.{name}",
            f"opentelemetry.instrumentation.psycopg:CursorTracer.{method}",
            "Cursors that the stock instrumentation made before it was replaced: one span for each query.",
            make,
            "execute of a stock cursor",
            requires=_STOCK,
        )
        for name, method, make in (
            ("execution", "traced_execution", hooks.make_untraced),
            ("async_execution", "traced_execution_async", hooks.make_untraced_async),
        )
    ),
)
