"""The attributes, names and metrics of the stock instrumentation, which ours replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_fastpath.db.dbapi import stock_telemetry

if TYPE_CHECKING:
    from otel_fastpath.db.server_attributes import Server


class StockConventions(stock_telemetry.StockConventions):
    """What the stock instrumentation emits, under its own scope."""

    def nameless(self, server: Server) -> str:
        # It does not know the database.
        return server.system.name
