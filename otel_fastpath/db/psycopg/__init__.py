"""Our own instrumentation of psycopg (3): its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.psycopg.patches import PATCHES
from otel_fastpath.db.psycopg.plans import DATABASE
from otel_fastpath.db.psycopg.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="psycopg",
    why="Queries, connections and pools, for a twelfth of what the stock instrumentation costs.",
    patches=PATCHES,
    configure=DATABASE.configure,
    read=DATABASE.read,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.psycopg:PsycopgInstrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-psycopg>=0.64b0,<0.67",
            given_keywords=given_keywords,
            beyond=(
                "psycopg.connect*",
                *(f"psycopg.{prefix}{name}" for prefix in ("", "async_") for name in ("commit", "rollback", "tpc_*")),
                *(
                    f"psycopg.{prefix}{name}"
                    for prefix in ("", "async_")
                    for name in ("transaction.*", "server_cursor.*", "pool.*", "cursor.stream", "cursor.copy")
                ),
            ),
        ),
    ),
    entry_points=frozenset({"psycopg"}),
    stop=DATABASE.stop,
)
