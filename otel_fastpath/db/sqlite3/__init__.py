"""Our own instrumentation of sqlite3 and aiosqlite: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.dbapi.stock_telemetry import given_keywords
from otel_fastpath.db.sqlite3.patches import PATCHES
from otel_fastpath.db.sqlite3.query_plans import DATABASE

LIBRARY: Final = DATABASE.library(
    "Statements of cursors and connections, also of aiosqlite, for a tenth of what stock's costs.",
    PATCHES,
    "SQLite3Instrumentor",
    "0.64b0",
    given_keywords=functools.partial(given_keywords, "sqlite3"),
)
