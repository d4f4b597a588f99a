"""Our own instrumentation of mysqlclient: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.mysqlclient.patches import PATCHES
from otel_fastpath.db.mysqlclient.plans import DATABASE
from otel_fastpath.db.mysqlclient.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="mysqlclient",
    why="Queries of any cursor, transactions and connects, for a tenth of what stock's costs.",
    patches=PATCHES,
    configure=DATABASE.configure,
    read=DATABASE.read,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.mysqlclient:MySQLClientInstrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-mysqlclient>=0.64b0,<0.67",
            given_keywords=given_keywords,
            beyond=("mysqlclient.begin", "mysqlclient.commit", "mysqlclient.rollback", "mysqlclient.connect"),
        ),
    ),
    entry_points=frozenset({"mysqlclient"}),
    stop=DATABASE.stop,
)
