"""What is worked out once for psycopg2: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.libraries.db import dbapi_plans
from otel_fastpath.libraries.db.cursors import Driver
from otel_fastpath.libraries.db.database import Database
from otel_fastpath.libraries.db.psycopg2 import texts
from otel_fastpath.libraries.db.psycopg2.official import Official
from otel_fastpath.libraries.db.servers import POSTGRESQL, Server

LINK: Final = "_otel_fastpath"


def server_of(connection: Any) -> Server:
    """The server of a connection; that of a closed one is not known."""
    if connection.closed:
        return Server(POSTGRESQL)
    info = connection.info
    return Server(POSTGRESQL, (info.host, info.port), info.dbname, info.user)


def _text_of(query: Any, link: Any, connection: Any) -> str:
    return texts.rendered(query, connection, with_values=isinstance(link.active.convention, Official))


DATABASE: Final = Database(
    "psycopg2",
    server_of,
    # PostgreSQL's errors have one.
    status_code=lambda error: getattr(error, "pgcode", None),
    connection=lambda held: getattr(held, "connection", held),
    link=LINK,
    official=Official,
    make_plans=dbapi_plans.Plans,
)
DRIVER: Final = Driver(DATABASE, LINK, "query", "vars", "vars_list", _text_of, texts.commented)
