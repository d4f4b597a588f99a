"""The patches of asyncpg, and the hook of this folder that each one uses."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import call_wrappers
from otel_fastpath.db.asyncpg import connecting, copying, hooks, pools
from otel_fastpath.db.asyncpg.query_plans import DATABASE

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.call_wrappers import Opener, Rows
    from otel_fastpath.patching.patch import Patch

_REQUIRES: Final = ("asyncpg>=0.29,<1",)
# The first release with `fetchmany`.
_FETCHMANY: Final = ("asyncpg>=0.30,<1",)


def _around(opener: Opener, rows: Rows) -> Callable[[Any], Any]:
    return functools.partial(call_wrappers.around, DATABASE, opener, rows)


def _patch(name: str, target: str, why: str, make: Callable[[Any], Any], budget: str) -> Patch:
    # Below "asyncpg", so that it is applied once the whole package is imported: during the import, its modules import
    # functions from each other.
    requires = _FETCHMANY if name.endswith("fetchmany") else _REQUIRES
    return DATABASE.patch(name, f"asyncpg:{target}", why, make, budget, requires=requires)


_QUERY: Final = "A query is a span."
_BATCH: Final = "A query with many sets of parameters is one span."
_COPY: Final = "A COPY is a span."
_TRIP: Final = "A cursor's round trip to the server is a span; the rows that it brought cost nothing."
_CURSOR: Final = "cursor of 50 rows in a round trip"
_POOL: Final = "pool, acquire and release"

PATCHES: Final = (
    *(
        _patch(
            name, f"Connection.{name}", _QUERY, functools.partial(call_wrappers.around_query, DATABASE, rows), budget
        )
        for name, rows, budget in (
            ("execute", "NO_ROWS", "transaction"),
            ("fetch", "ALL_ROWS", "fetch of 50 rows"),
            ("fetchval", "ONE_VALUE", "fetchrow"),
            ("fetchrow", "ONE_ROW", "fetchrow"),
        )
    ),
    *(
        _patch(name, f"Connection.{name}", _BATCH, _around(opener, rows), "executemany")
        for name, opener, rows in (
            ("executemany", hooks.of_batch, call_wrappers.no_rows),
            ("fetchmany", hooks.of_fetchmany, call_wrappers.all_rows),
        )
    ),
    _patch(
        "prepare",
        "Connection.prepare",
        "Preparing a statement is a span.",
        _around(hooks.preparing, call_wrappers.no_rows),
        "prepare",
    ),
    *(
        _patch(name, f"Connection.{name}", _COPY, _around(opener, rows), "copy_from_table")
        for name, opener, rows in (
            ("copy_from_table", copying.of_table, copying.record_copy_out),
            ("copy_from_query", copying.of_query, copying.record_copy_out),
            ("copy_to_table", copying.of_table, copying.record_copy_in),
            ("copy_records_to_table", copying.of_table, copying.record_copy_in),
        )
    ),
    *(
        _patch(
            f"statement.{name}",
            f"prepared_stmt.PreparedStatement.{name}",
            why,
            _around(opener, rows),
            "statement.fetch",
        )
        for name, why, opener, rows in (
            ("fetch", _QUERY, hooks.of_statement, call_wrappers.all_rows),
            ("fetchval", _QUERY, hooks.of_statement, call_wrappers.one_value),
            ("fetchrow", _QUERY, hooks.of_statement, call_wrappers.one_row),
            ("executemany", _BATCH, hooks.of_statement_batch, call_wrappers.no_rows),
            ("fetchmany", _BATCH, hooks.of_statement_batch, call_wrappers.all_rows),
            ("explain", _QUERY, hooks.explaining, call_wrappers.no_rows),
        )
    ),
    *(
        _patch(f"cursor.{name}", f"cursor.{target}", _TRIP, _around(opener, rows), _CURSOR)
        for name, target, opener, rows in (
            ("open", "Cursor._init", hooks.opening_cursor, call_wrappers.no_rows),
            ("begin", "BaseCursor._bind_exec", hooks.of_cursor, hooks.cursor_rows),
            ("fetch", "BaseCursor._exec", hooks.of_cursor, hooks.cursor_rows),
            ("forward", "Cursor.forward", hooks.of_cursor, call_wrappers.no_rows),
        )
    ),
    _patch(
        "cursor.prepare",
        "protocol.Protocol.prepare",
        "Preparing a cursor's statement belongs to its first round trip, and is a span if it fails.",
        hooks.on_prepare,
        _CURSOR,
    ),
    *(
        _patch(name, target, "Each connect is a span.", connecting.make_connect, "connect")
        for name, target in (
            ("connect.own", "connect_utils._connect"),
            ("connect.pooled", "connection.connect"),
            ("connect", "connect"),
        )
    ),
    _patch(
        "connect.arguments",
        "connect_utils._parse_connect_arguments",
        "Says where a connect goes, for its span.",
        connecting.make_parse,
        "connect",
    ),
    _patch(
        "pool.initialize",
        "pool.Pool._initialize",
        "A pool's connections are metrics.",
        pools.make_initialise,
        "pool, made",
    ),
    _patch(
        "pool.acquire",
        "pool.Pool._acquire",
        "Waiting for a connection is a metric, and a span for who asked for it.",
        pools.make_acquire,
        _POOL,
    ),
    _patch(
        "pool.release",
        "pool.PoolConnectionHolder._release",
        "How long a connection was borrowed is a metric.",
        pools.make_release,
        _POOL,
    ),
    _patch(
        "pool.connect",
        "pool.Pool._get_new_connection",
        "How long it took to make a pool's connection is a metric.",
        pools.make_new_connection,
        "pool, a new connection",
    ),
)
