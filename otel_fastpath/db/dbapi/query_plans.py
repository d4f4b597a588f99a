"""The plans of the drivers of the DB-API (PEP 249): texts with placeholders, and the stock instruments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import query_plans
from otel_fastpath.db.dbapi.stock_telemetry import StockConventions

if TYPE_CHECKING:
    from otel_fastpath.db.conventions import QueryText
    from otel_fastpath.db.query_plans import Active
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.call import CallDurations

# What a driver reads in a query to which parameters are passed. The names may be words of SQL.
_PLACEHOLDER: Final = re.compile(r"%\([^)]*\)[sbt]|%[sbt]")


class Plans(query_plans.QueryPlans):
    """The plans for one server and database."""

    __slots__ = ()

    def __init__(self, active: Active, server: Server, own: Any) -> None:
        super().__init__(active, server, own)
        if isinstance(self.convention, StockConventions):
            self.convention = self.convention.of(server)

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, once; a placeholder is read as a parameter."""
        if not has_arguments or "%" not in text:
            return super().read(text, has_arguments)
        plain = _PLACEHOLDER.sub("$1", text)
        found = super().read(plain, has_arguments=True)
        found.raw = text
        if found.text == plain:
            found.text = text
        return found

    def _measures(self, query: QueryText, prefix: str) -> tuple[CallDurations | None, Any]:
        if self.active.is_same:
            convention: Any = self.convention
            return convention.measures(query) or (None, None)
        return super()._measures(query, prefix)
