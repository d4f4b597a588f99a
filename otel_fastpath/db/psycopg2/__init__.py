"""Our own instrumentation of psycopg2: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.psycopg2.patches import PATCHES
from otel_fastpath.db.psycopg2.plans import DATABASE
from otel_fastpath.db.psycopg2.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="psycopg2",
    why="Queries, COPYs and connects of any connection and cursor class, for a tenth of what stock's costs.",
    patches=PATCHES,
    configure=DATABASE.configure,
    read=DATABASE.read,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.psycopg2:Psycopg2Instrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-psycopg2>=0.64b0,<0.67",
            given_keywords=given_keywords,
            # It sees their pages.
            beyond=("psycopg2.execute_*",),
        ),
    ),
    entry_points=frozenset({"psycopg2"}),
    stop=DATABASE.stop,
)
