"""Our own instrumentation of PyMySQL: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.pymysql.patches import PATCHES
from otel_fastpath.db.pymysql.plans import DATABASE
from otel_fastpath.db.pymysql.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="pymysql",
    why="Queries of any cursor, transactions and connects, for a tenth of what stock's costs.",
    patches=PATCHES,
    configure=DATABASE.configure,
    read=DATABASE.read,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.pymysql:PyMySQLInstrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-pymysql>=0.64b0,<0.67",
            given_keywords=given_keywords,
            beyond=("pymysql.begin", "pymysql.commit", "pymysql.rollback", "pymysql.connect"),
        ),
    ),
    entry_points=frozenset({"pymysql"}),
    stop=DATABASE.stop,
)
