"""The server and database that a connection is connected to, in the terms of the conventions."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class System(NamedTuple):
    """A database management system.

    Attributes:
        name: Its `db.system.name`.
        port: The default port, which is not recorded; None: every port is recorded.
    """

    name: str
    port: int | None = None


POSTGRESQL: Final = System("postgresql", 5432)


class Server(NamedTuple):
    """What a connection is connected to. Equal servers share their plans, so all that distinguishes them is here.

    Attributes:
        system: The system.
        address: Host and port, or the path of a Unix socket or file; None: it is not known.
        namespace: The database.
        user: The name of the connected user.
    """

    system: System
    address: Any = None
    namespace: str | None = None
    user: str | None = None

    def attributes(self) -> dict[str, Any]:
        """The attributes of the stable conventions."""
        found: dict[str, Any] = {"db.system.name": self.system.name}
        if self.namespace:
            found["db.namespace"] = self.namespace
        if isinstance(self.address, tuple):
            found["server.address"] = self.address[0]
            if self.address[1] != self.system.port:
                found["server.port"] = self.address[1]
        elif self.address:
            found["server.address"] = self.address
        return found

    @property
    def name(self) -> str:
        """The name of a pool of such connections: "host:port/database"."""
        place = ":".join(map(str, self.address)) if isinstance(self.address, tuple) else str(self.address)
        return f"{place}/{'' if self.namespace is None else self.namespace}"
