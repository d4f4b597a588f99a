"""Our own instrumentation of cassandra-driver and scylla-driver, and the one that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.cassandra.futures import stop
from otel_fastpath.db.cassandra.patches import PATCHES
from otel_fastpath.db.cassandra.query_plans import DATABASE
from otel_fastpath.db.cassandra.stock_telemetry import given_keywords

LIBRARY: Final = DATABASE.library(
    "Requests until their results are there, pages and batches, for a fifth of what stock's costs.",
    PATCHES,
    "CassandraInstrumentor",
    "0.65b0",
    stop=stop,
    given_keywords=given_keywords,
    beyond=("cassandra.prepare", "cassandra.connect", "cassandra.page"),
)
