"""Which server and database a connection is connected to, in the words of the conventions."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class System(NamedTuple):
    """A database management system.

    Attributes:
        name: Its `db.system.name`.
        port: The port that is not stated because it is the default; None: every port is stated.
    """

    name: str
    port: int | None = None


POSTGRESQL: Final = System("postgresql", 5432)


class Server(NamedTuple):
    """Who a connection is connected to. Equal servers share their plans, so that whatever tells them apart is in here.

    Attributes:
        system: The system.
        address: Host and port, or the path of a Unix socket or file; None: it is not known.
        namespace: The database.
        user: Who is connected.
    """

    system: System
    address: Any = None
    namespace: str | None = None
    user: str | None = None

    def attributes(self) -> dict[str, Any]:
        """Those of the stable conventions."""
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
        """What a pool of such connections is called: "host:port/database"."""
        place = ":".join(map(str, self.address)) if isinstance(self.address, tuple) else str(self.address)
        return f"{place}/{'' if self.namespace is None else self.namespace}"
