"""Our own instrumentation of psycopg (3): its patches, and the instrumentation that it replaces."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.dbapi.stock_telemetry import given_keywords
from otel_fastpath.db.psycopg.patches import PATCHES
from otel_fastpath.db.psycopg.query_plans import DATABASE

_BEYOND: Final = (
    *("commit", "rollback", "tpc_*", "transaction.*"),
    *("server_cursor.*", "pool.*", "cursor.stream", "cursor.copy"),
)
LIBRARY: Final = DATABASE.library(
    "Queries, connections and pools, for a twelfth of what the stock instrumentation costs.",
    PATCHES,
    "PsycopgInstrumentor",
    "0.64b0",
    given_keywords=functools.partial(given_keywords, "psycopg"),
    beyond=("psycopg.connect*", *(f"psycopg.{prefix}{name}" for prefix in ("", "async_") for name in _BEYOND)),
)
