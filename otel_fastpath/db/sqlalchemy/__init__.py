"""Our own instrumentation of SQLAlchemy: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.db.sqlalchemy import engines, pools
from otel_fastpath.db.sqlalchemy.engines import DATABASE
from otel_fastpath.db.sqlalchemy.patches import PATCHES
from otel_fastpath.db.sqlalchemy.stock_telemetry import given_keywords

if TYPE_CHECKING:
    from otel_fastpath.wrapping.library import Setup


def _configure(setup: Setup) -> None:
    engines.configure(setup)
    pools.observe_usage(setup.providers)


LIBRARY: Final = DATABASE.library(
    "Statements, transactions, connections and pools, for an eighth of what the stock instrumentation costs.",
    PATCHES,
    "SQLAlchemyInstrumentor",
    "0.65b0",
    configure=_configure,
    given_keywords=given_keywords,
    silent=("sqlalchemy.commit", "sqlalchemy.rollback"),
    # It refuses SQLAlchemy 2.1.
    dependencies=("sqlalchemy >= 2.0, < 2.2",),
)
