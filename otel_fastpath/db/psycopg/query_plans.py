"""What is worked out once for psycopg: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.cursors import Driver
from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import query_plans as dbapi_plans
from otel_fastpath.db.dbapi.stock_telemetry import StockConventions
from otel_fastpath.db.libpq import server_of
from otel_fastpath.db.options import options_with
from otel_fastpath.db.psycopg import texts

CONNECTION_PLAN: Final = "_otel_fastpath"


class Plans(dbapi_plans.Plans):
    """The plans for one server and database."""

    __slots__ = ()

    def is_quiet(self, text: Any, operation: str) -> bool:
        """Whether the text is that by which a pool checks a connection, or disabled by the options."""
        if text == "":
            return not self.active.is_same and not self.active.options.check
        return super().is_quiet(text, operation)


def _text_of(query: Any, connection_plan: Any, connection: Any) -> str:
    return texts.render(query, connection, with_values=isinstance(connection_plan.active.convention, StockConventions))


DATABASE: Final = Database(
    "psycopg",
    server_of,
    # PostgreSQL's errors have one.
    status_code=lambda error: getattr(error, "sqlstate", None),
    connection=lambda held: getattr(held, "_conn", held),
    connection_plan=CONNECTION_PLAN,
    # Spans: waiting for a connection of a pool, and the empty query by which a pool checks a connection.
    options=options_with("acquire", "check"),
    stock=lambda setup: StockConventions(setup, "psycopg"),
    make_plans=Plans,
)
DRIVER: Final = Driver(
    DATABASE, CONNECTION_PLAN, "query", "params", "params_seq", _text_of, texts.add_comment, connection="_conn"
)
