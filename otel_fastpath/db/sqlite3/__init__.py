"""Our own instrumentation of sqlite3 and aiosqlite: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.sqlite3.patches import PATCHES
from otel_fastpath.db.sqlite3.plans import DATABASE
from otel_fastpath.db.sqlite3.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="sqlite3",
    why="Statements of cursors and connections, also of aiosqlite, for a tenth of what stock's costs.",
    patches=PATCHES,
    configure=DATABASE.configure,
    read=DATABASE.read,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.sqlite3:SQLite3Instrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-sqlite3>=0.64b0,<0.67",
            given_keywords=given_keywords,
        ),
    ),
    entry_points=frozenset({"sqlite3"}),
    stop=DATABASE.stop,
)
