"""What is worked out once for PyMySQL: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.dbapi import mysql
from otel_fastpath.db.server_attributes import Server


def server_of(connection: Any) -> Server:
    """The server of a connection, as it was told to connect."""
    address = connection.unix_socket or (connection.host, connection.port)
    return Server(mysql.MYSQL, address, mysql.text(connection.db), mysql.text(connection.user))


DATABASE: Final = mysql.database("pymysql", "pymysql", server_of)
