"""What psycopg and psycopg2, which stand on PostgreSQL's libpq, tell of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.db.server_attributes import POSTGRESQL, Server

if TYPE_CHECKING:
    from collections.abc import Mapping


def server_of(connection: Any) -> Server:
    """The server of a connection; that of a closed one is not known."""
    if connection.closed:
        return Server(POSTGRESQL)
    info = connection.info
    return Server(POSTGRESQL, (info.host, info.port), info.dbname, info.user)


def server_meant(where: Mapping[str, Any]) -> Server:
    """The server that libpq's parameters mean; the first one, if there are several."""
    host, _, _ = str(where.get("host") or where.get("hostaddr") or "").partition(",")
    port, _, _ = str(where.get("port") or "").partition(",")
    address = (host, int(port) if port.isdigit() else POSTGRESQL.port) if host else None
    user = where.get("user")
    return Server(POSTGRESQL, address, str(where.get("dbname") or user or "") or None, str(user) if user else None)
