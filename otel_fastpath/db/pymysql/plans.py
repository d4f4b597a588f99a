"""What is worked out once for PyMySQL: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import mysql
from otel_fastpath.db.pymysql.stock import StockConventions
from otel_fastpath.db.servers import Server

_LINK: Final = "_otel_fastpath"


def server_of(connection: Any) -> Server:
    """The server of a connection, as it was told to connect."""
    address = connection.unix_socket or (connection.host, connection.port)
    return Server(mysql.MYSQL, address, mysql.text(connection.db), mysql.text(connection.user))


DATABASE: Final = Database(
    "pymysql",
    server_of,
    status_code=mysql.status_code,
    connection=lambda held: getattr(held, "connection", held),
    link=_LINK,
    stock=StockConventions,
    make_plans=mysql.MysqlPlans,
)
DRIVER: Final = mysql.driver(DATABASE, _LINK)
