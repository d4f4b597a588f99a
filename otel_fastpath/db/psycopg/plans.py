"""What is worked out once for psycopg: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import plans as dbapi_plans
from otel_fastpath.db.libpq import server_of
from otel_fastpath.db.psycopg import texts
from otel_fastpath.db.psycopg.options import PsycopgOptions
from otel_fastpath.db.psycopg.stock import StockConventions

LINK: Final = "_otel_fastpath"


class Plans(dbapi_plans.Plans):
    """The plans for one server and database."""

    __slots__ = ()

    def is_quiet(self, text: Any, operation: str) -> bool:
        """Whether the text is that by which a pool checks a connection, or disabled by the options."""
        if text == "":
            return not self.active.is_same and not self.active.options.check
        return super().is_quiet(text, operation)


def text_of(query: Any, link: Any, connection: Any) -> str:
    """The text of a query, as it is recorded and as its plans are kept.

    Args:
        query: What was passed to psycopg.
        link: The connection's `Link`.
        connection: The connection.
    """
    if type(query) is str:
        return query
    return texts.rendered(query, connection, with_values=isinstance(link.active.convention, StockConventions))


DATABASE: Final = Database(
    "psycopg",
    server_of,
    # PostgreSQL's errors have one.
    status_code=lambda error: getattr(error, "sqlstate", None),
    connection=lambda held: getattr(held, "_conn", held),
    link=LINK,
    options=PsycopgOptions,
    stock=StockConventions,
    make_plans=Plans,
)
