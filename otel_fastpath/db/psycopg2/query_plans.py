"""What is worked out once for psycopg2: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.cursors import Driver
from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import query_plans as dbapi_plans
from otel_fastpath.db.dbapi.stock_telemetry import StockConventions
from otel_fastpath.db.libpq import server_of
from otel_fastpath.db.psycopg2 import texts

CONNECTION_PLAN: Final = "_otel_fastpath"


def _text_of(query: Any, connection_plan: Any, connection: Any) -> str:
    return texts.render(query, connection, with_values=isinstance(connection_plan.active.convention, StockConventions))


DATABASE: Final = Database(
    "psycopg2",
    server_of,
    # PostgreSQL's errors have one.
    status_code=lambda error: getattr(error, "pgcode", None),
    connection=lambda held: getattr(held, "connection", held),
    connection_plan=CONNECTION_PLAN,
    stock=lambda setup: StockConventions(setup, "psycopg2"),
    make_plans=dbapi_plans.Plans,
)
DRIVER: Final = Driver(DATABASE, CONNECTION_PLAN, "query", "vars", "vars_list", _text_of, texts.add_comment)
