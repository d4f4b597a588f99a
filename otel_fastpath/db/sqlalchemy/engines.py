"""What is worked out once for SQLAlchemy: its set-up, and what is stored for an engine.

An engine holds the `ConnectionPlan` for its connections: a `Connection` exists no longer than its checkout from the
pool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import query_plans
from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import mysql, sqlite
from otel_fastpath.db.options import options_with
from otel_fastpath.db.server_attributes import POSTGRESQL, Server, System
from otel_fastpath.db.sqlalchemy.stock_telemetry import Read, StockConventions

if TYPE_CHECKING:
    from otel_fastpath.db.conventions import QueryText
    from otel_fastpath.wrapping.library import Setup

CONNECTION_PLAN: Final = "_otel_fastpath"
# SQLAlchemy's names of databases that have another name in the conventions, or a default port.
_SYSTEMS: Final = {
    "postgresql": POSTGRESQL,
    "mysql": mysql.MYSQL,
    "mariadb": System("mariadb", 3306),
    "mssql": System("microsoft.sql_server", 1433),
    "oracle": System("oracle.db", 1521),
    "redshift": System("aws.redshift", 5439),
    "cockroachdb": System("cockroachdb", 26257),
    "db2": System("ibm.db2", 50000),
    "hana": System("sap.hana"),
}
# How the texts of databases are read where double quotes can enclose a value.
_OTHER_QUOTES: Final = {"mysql": mysql.read, "mariadb": mysql.read, "sqlite": sqlite.read}
# A host that has its port with it.
_WITH_PORT: Final = re.compile(r"([\w.-]+):(\d+)")


class EnginePlans(query_plans.QueryPlans):
    """The plans for one server and database; their `own` is what the stock instrumentation reads of a connection.

    Attributes:
        ends: The plans of the ends of transactions, by their commands: what `special` has returned, without its call.
        quiet: A plan without telemetry.
    """

    __slots__ = ("ends", "quiet")

    def __init__(self, active: Any, server: Server, own: Read | None) -> None:
        super().__init__(active, server, own)
        self.ends: dict[str, Any] = {}
        self.quiet = active.hot.QueryPlan("", None, None, None, True)  # noqa: FBT003  # the hot module takes no keywords
        if own is not None:
            self.convention = active.convention.of(own)

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, in a way that takes no value for a name."""
        reader = _OTHER_QUOTES.get(self.server.system.name)
        return super().read(text, has_arguments) if reader is None else reader(text, has_arguments, super().read)


def server_of(engine: Any) -> Server:
    """The server of an engine, as its URL names it."""
    url = engine.url
    name = engine.dialect.name
    system = _SYSTEMS.get(name) or System(name)
    return Server(system, _address_of(url, system.port), url.database, url.username)


def _address_of(url: Any, default: int | None) -> Any:
    """Host and port, or the folder of a socket; the first one, if there are several."""
    # They can be parameters: "?host=/run/postgresql", "?host=a,b&port=1,2", "?host=a:1&host=b:2".
    host = _first(url.host or url.query.get("host") or url.query.get("unix_socket"))
    if not host or host.startswith("/"):
        return host or None
    port = _first(url.port or url.query.get("port"))
    both = _WITH_PORT.fullmatch(host)
    if both is not None:
        host, port = both.groups()
    return host, int(port) if port.isdecimal() else default


def _first(value: Any) -> str:
    """The first of the values of a URL's parameter, which may have commas between them."""
    found = value[0] if isinstance(value, tuple) else value
    return "" if found is None else str(found).partition(",")[0]


def _read(connection: Any) -> Read | None:
    convention = DATABASE.active.convention
    return convention.read(connection) if isinstance(convention, StockConventions) else None


def _status_code(error: BaseException) -> Any:
    """The SQLSTATE, or the database's own code where the driver shows none."""
    for name in ("sqlstate", "pgcode", "sqlite_errorname"):
        code = getattr(error, name, None)
        if code:
            return code
    return mysql.status_code(error)


DATABASE: Final = Database(
    "sqlalchemy",
    lambda connection: server_of(connection.engine),
    status_code=_status_code,
    # An engine is its own `engine`.
    connection_plan=f"engine.{CONNECTION_PLAN}",
    # Waiting for a connection of a pool is a span; a driver with a wrapper that is on makes the spans.
    options=options_with("acquire", "drivers"),
    stock=StockConventions,
    make_plans=EnginePlans,
    own=_read,
)


def configure(setup: Setup) -> None:
    """Work with this set-up from now on."""
    DATABASE.configure(setup)
    active = DATABASE.active
    if isinstance(active.convention, StockConventions) and active.convention.comments:
        DATABASE.is_curious = True
    if active.is_same:
        # The stock instrumentation has no event for an exception.
        describe = active.telemetry.describe
        active.telemetry.describe = lambda error: describe(error)._replace(recorded=False)
