"""What is worked out once for mysqlclient: its set-up, and what is stored for a connection, as attributes of it."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.dbapi import mysql
from otel_fastpath.db.server_attributes import Server

# The server that a connection was told to connect to, which it does not keep itself.
_SERVER: Final = "_otel_fastpath_server"


def server_of(connection: Any) -> Server:
    """The server of a connection; one that was made before we instrumented shows it since mysqlclient 2.3."""
    found: Server | None = getattr(connection, _SERVER, None)
    if found is not None:
        return found
    names = ("host", "port", "user", "db")
    return meant((connection,), {name: getattr(connection, name, None) for name in names})


def store_server(_none: None, args: Any, kwargs: Any, _start_ns: int) -> Server:
    """Store the server of a connection that was made with these arguments."""
    connection, server = args[0], meant(args, kwargs)
    setattr(connection, _SERVER, server)
    # What its `__init__` has executed was executed without it.
    setattr(connection, mysql.CONNECTION_PLAN, None)
    return server


def meant(args: Any, kwargs: Any) -> Server:
    """The server that the arguments of a connection's `__init__` mean."""
    given = {**dict(zip(("self", "host", "user", "password", "database", "port"), args, strict=False)), **kwargs}
    host, port = given.get("host"), given.get("port") or mysql.MYSQL.port
    address = given.get("unix_socket") or (str(host), port if isinstance(port, int) else None) if host else None
    name = given.get("database") or given.get("db")
    return Server(mysql.MYSQL, address, mysql.text(name), mysql.text(given.get("user")))


DATABASE: Final = mysql.database("mysqlclient", "MySQLdb", server_of, drivers=("mysqldb",))
