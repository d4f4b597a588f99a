"""What the drivers of MySQL and MariaDB share: their cursors, where texts can be read, error codes, and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import conventions
from otel_fastpath.db.conventions import QueryText
from otel_fastpath.db.cursors import Driver
from otel_fastpath.db.dbapi import plans, stock
from otel_fastpath.db.queries import comments
from otel_fastpath.db.servers import System

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.database import Database
    from otel_fastpath.db.servers import Server

MYSQL: Final = System("mysql", 3306)
# There, double quotes can enclose a value, and a backslash can escape a quote: the reader of texts would take values
# for names.
_AMBIGUOUS: Final = frozenset('"\\#`')


def read(text: Any, has_arguments: bool, read_whole: Callable[[Any, bool], QueryText]) -> QueryText:
    """Read a text of MySQL; of one whose values could be taken for names, only the first word.

    Args:
        text: The text.
        has_arguments: Whether arguments were passed with it.
        read_whole: Reads any other text.
    """
    if not issubclass(type(text), str) or _AMBIGUOUS.isdisjoint(text) or text.lstrip()[:1] in _AMBIGUOUS:
        return read_whole(text, has_arguments)
    first = conventions.read(text.split(maxsplit=1)[0], has_arguments=False).first
    return QueryText(text, text if has_arguments else "", first, first, first.upper())


class MysqlConventions(stock.StockConventions):
    """What a stock instrumentation of a driver emits, under its own scope."""

    def shown(self, server: Server, host: Any, port: Any) -> Any:
        """A connection by a Unix socket shows the default port of "localhost"."""
        by_socket = isinstance(server.address, str)
        return super().shown(server, *(("localhost", MYSQL.port) if by_socket else (host, port)))


class MysqlPlans(plans.Plans):
    """The plans for one server and database."""

    __slots__ = ()

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, once."""
        return read(text, has_arguments, super().read)


def driver(database: Database, link: str) -> Driver:
    """The cursors of PyMySQL or mysqlclient; the arguments are those of `Driver`."""
    # A batch is sent as one query only if nothing follows the values.
    return Driver(database, link, "query", "args", "args", commented=_commented, comments_batches=False)


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
