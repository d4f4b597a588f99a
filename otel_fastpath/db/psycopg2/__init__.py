"""Our own instrumentation of psycopg2: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.dbapi.stock_telemetry import given_keywords
from otel_fastpath.db.psycopg2.patches import PATCHES
from otel_fastpath.db.psycopg2.query_plans import DATABASE

LIBRARY: Final = DATABASE.library(
    "Queries, COPYs and connects of any connection and cursor class, for a tenth of what stock's costs.",
    PATCHES,
    "Psycopg2Instrumentor",
    "0.64b0",
    given_keywords=functools.partial(given_keywords, "psycopg2"),
    # It sees their pages.
    beyond=("psycopg2.execute_*",),
)
