"""Our own instrumentation of asyncpg: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.asyncpg.patches import PATCHES
from otel_fastpath.db.asyncpg.query_plans import DATABASE

LIBRARY: Final = DATABASE.library(
    "Queries, connections and pools, for a twelfth of what the stock instrumentation costs.",
    PATCHES,
    "AsyncPGInstrumentor",
    # Older releases support neither prepared statements (0.64) nor the stable conventions.
    "0.65b0",
    beyond=(
        "asyncpg.connect*",
        # It runs a query of the connection, which is a span.
        "asyncpg.statement.explain",
        *(f"asyncpg.pool.{name}" for name in ("initialize", "release", "connect")),
    ),
    silent=("asyncpg.prepare", "asyncpg.fetchmany", "asyncpg.copy_*", "asyncpg.cursor.open"),
)
