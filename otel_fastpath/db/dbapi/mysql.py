"""What the drivers of MySQL and MariaDB share: their cursors, where texts can be read, error codes, and plans."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import conventions, cursors
from otel_fastpath.db.call_wrappers import always, around_command
from otel_fastpath.db.conventions import QueryText
from otel_fastpath.db.cursors import Driver
from otel_fastpath.db.database import Database
from otel_fastpath.db.dbapi import procedures, query_plans, stock_telemetry
from otel_fastpath.db.queries import comments
from otel_fastpath.db.server_attributes import System

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.patching.patch import Patch
    from otel_fastpath.wrapping.library import Library

MYSQL: Final = System("mysql", 3306)
CONNECTION_PLAN: Final = "_otel_fastpath"
# There, double quotes can enclose a value, and a backslash can escape a quote: the reader of texts would take values
# for names.
_AMBIGUOUS: Final = frozenset('"\\#`')


def read(text: Any, has_arguments: bool, read_whole: Callable[[Any, bool], QueryText]) -> QueryText:
    """Read a text of MySQL; of one whose values could be taken for names, only the first word."""
    if not issubclass(type(text), str) or _AMBIGUOUS.isdisjoint(text) or text.lstrip()[:1] in _AMBIGUOUS:
        return read_whole(text, has_arguments)
    first = conventions.read(text.split(maxsplit=1)[0], has_arguments=False).first
    return QueryText(text, text if has_arguments else "", first, first, first.upper())


class MysqlConventions(stock_telemetry.StockConventions):
    """What a stock instrumentation of a driver emits, under its own scope."""

    def shown(self, server: Server, host: Any, port: Any) -> Any:
        """A connection by a Unix socket shows the default port of "localhost"."""
        by_socket = isinstance(server.address, str)
        return super().shown(server, *(("localhost", MYSQL.port) if by_socket else (host, port)))


class MysqlPlans(query_plans.Plans):
    """The plans for one server and database."""

    __slots__ = ()

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, once."""
        return read(text, has_arguments, super().read)


def database(name: str, module: str, server: Callable[[Any], Server], **own: Any) -> Database:
    """The declaration of PyMySQL or mysqlclient, which has this module; the other arguments are those of `Database`."""
    return Database(
        name,
        server,
        status_code=status_code,
        connection=lambda held: getattr(held, "connection", held),
        connection_plan=CONNECTION_PLAN,
        stock=lambda setup: MysqlConventions(setup, name, module, stock_telemetry.COMMENTER),
        make_plans=MysqlPlans,
        **own,
    )


def driver(wrapped: Database) -> Driver:
    """The cursors of PyMySQL or mysqlclient."""
    # A batch is sent as one query only if nothing follows the values.
    return Driver(wrapped, CONNECTION_PLAN, "query", "args", "args", commented=_commented, comments_batches=False)


def patches(wrapped: Database, cursor: str, connection: str, requires: str) -> tuple[Patch, ...]:
    """The patches of the methods of these targets, which are the driver's classes of cursors and of connections."""
    patch = functools.partial(wrapped.patch, requires=(requires,), benched="pymysql")
    of_cursors = driver(wrapped)
    return (
        *(
            patch(name, f"{cursor}.{name}", why, functools.partial(make, of_cursors), "execute")
            for name, why, make in (
                ("execute", "A query is a span.", cursors.around_execute),
                ("executemany", "A query with many sets of parameters is one span.", cursors.around_executemany),
                ("callproc", "The call of a procedure is a span.", procedures.around),
            )
        ),
        *(
            patch(
                name,
                f"{connection}.{name}",
                "What begins or ends a transaction is a span.",
                functools.partial(around_command, wrapped, always(name.upper())),
                "commit",
            )
            for name in ("begin", "commit", "rollback")
        ),
    )


def library(wrapped: Database, patches: tuple[Patch, ...], instrumentor: str, module: str) -> Library:
    """The declaration of the wrapper of PyMySQL or mysqlclient; see `Database.library`."""
    return wrapped.library(
        "Queries of any cursor, transactions and connects, for a tenth of what stock's costs.",
        patches,
        instrumentor,
        "0.64b0",
        given_keywords=functools.partial(stock_telemetry.given_keywords, module),
        beyond=tuple(f"{wrapped.name}.{name}" for name in ("begin", "commit", "rollback", "connect")),
    )


def _commented(query: Any, _cursor: Any, has_parameters: bool) -> Any:
    return comments.with_comment(query, is_formatted=has_parameters)


def status_code(error: BaseException) -> str | None:
    """The server's number for an error; PyMySQL and mysqlclient pass it before the message."""
    number = error.args[0] if error.args else None
    # PyMySQL's own errors have 0.
    return str(number) if type(number) is int and number and "mysql" in type(error).__module__.lower() else None


def text(value: Any) -> str | None:
    """A name that a driver holds as `str` or encoded."""
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "replace") or None
    return str(value) if value else None
