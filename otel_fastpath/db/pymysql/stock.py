"""The attributes, names and metrics of the stock instrumentation, which ours replaces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.dbapi import mysql, stock

if TYPE_CHECKING:
    from otel_fastpath.wrapping.library import Setup

_STOCK: Final = "opentelemetry.instrumentation.pymysql"


def given_keywords(_instrumentor: Any) -> dict[str, Any]:
    """The keyword arguments that the stock instrumentor was given."""
    return stock.given_keywords(sys.modules["pymysql"].connect)


class StockConventions(mysql.MysqlConventions):
    """What the stock instrumentation emits, under its own scope."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, _STOCK, "pymysql", stock.COMMENTER)
