"""Our own instrumentation of cassandra-driver and scylla-driver, and the one that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.cassandra.futures import stop
from otel_fastpath.db.cassandra.patches import PATCHES
from otel_fastpath.db.cassandra.plans import DATABASE
from otel_fastpath.db.cassandra.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="cassandra",
    why="Requests until their results are there, pages and batches, for a fifth of what stock's costs.",
    patches=PATCHES,
    configure=DATABASE.configure,
    read=DATABASE.read,
    stop=stop,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.cassandra:CassandraInstrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-cassandra>=0.65b0,<0.67",
            given_keywords=given_keywords,
            beyond=("cassandra.prepare", "cassandra.connect", "cassandra.page"),
        ),
    ),
    entry_points=frozenset({"cassandra"}),
)
