"""What is worked out once for sqlite3: its set-up, and what is stored for a connection, as attributes of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.cursors import Driver
from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import query_plans as dbapi_plans
from otel_fastpath.db.dbapi import sqlite
from otel_fastpath.db.server_attributes import Server, System
from otel_fastpath.db.sqlite3.stock_telemetry import StockConventions

if TYPE_CHECKING:
    from otel_fastpath.db.conventions import QueryText

CONNECTION_PLAN: Final = "_otel_fastpath"
# What a connection was made with: sqlite3 itself would have to be asked with a query.
NAME: Final = "_otel_fastpath_name"
_SQLITE: Final = System("sqlite")
_URI: Final = "file:"


class Plans(dbapi_plans.Plans):
    """The plans for one database."""

    __slots__ = ()

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, once."""
        return sqlite.read(text, has_arguments, super().read)


def server_of(connection: Any) -> Server:
    """The database of a connection."""
    return server_named(getattr(connection, NAME, None))


def server_named(name: Any) -> Server:
    """The database of this name or path, or of this URI without its parameters, one of which may be a key."""
    if name is None:
        return Server(_SQLITE)
    path = name if type(name) is str else os.fsdecode(name)
    return Server(_SQLITE, namespace=path.partition("?")[0] if path.startswith(_URI) else path)


DATABASE: Final = Database(
    "sqlite3",
    server_of,
    status_code=lambda error: getattr(error, "sqlite_errorname", None),
    connection=lambda held: getattr(held, "connection", held),
    connection_plan=CONNECTION_PLAN,
    stock=lambda setup: StockConventions(setup, "sqlite3", keywords_read=("tracer_provider",)),
    make_plans=Plans,
    drivers=("pysqlite", "aiosqlite"),
)
DRIVER: Final = Driver(DATABASE, CONNECTION_PLAN, "sql", "parameters", "seq_of_parameters")
# For methods of a connection that are like those of a cursor.
OF_CONNECTION: Final = DRIVER._replace(connection="")
