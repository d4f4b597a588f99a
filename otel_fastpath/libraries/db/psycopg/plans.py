"""What is worked out once for psycopg: its set-up, and what is stored for a connection, as an attribute of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.libraries.db import plans
from otel_fastpath.libraries.db.database import Database
from otel_fastpath.libraries.db.psycopg import texts
from otel_fastpath.libraries.db.psycopg.official import Official
from otel_fastpath.libraries.db.psycopg.options import Options
from otel_fastpath.libraries.db.servers import POSTGRESQL, Server

if TYPE_CHECKING:
    from otel_fastpath.libraries.call import Series
    from otel_fastpath.libraries.db.conventions import Query
    from otel_fastpath.libraries.library import Setup

LINK: Final = "_otel_fastpath"
# What psycopg reads in a query to which parameters are passed. The names may be words of SQL.
_PLACEHOLDER: Final = re.compile(r"%\([^)]*\)[sbt]|%[sbt]")


class Plans(plans.Plans):
    """The plans for one server and database."""

    __slots__ = ()

    def read(self, text: Any, has_arguments: bool) -> Query:
        """Read a text, once; a placeholder is read as a parameter."""
        if not has_arguments or "%" not in text:
            return super().read(text, has_arguments)
        plain = _PLACEHOLDER.sub("$1", text)
        found = super().read(plain, has_arguments=True)
        return replace(found, raw=text, text=text if found.text == plain else found.text)

    def is_quiet(self, text: Any, operation: str) -> bool:
        """Whether the text is that by which a pool checks a connection, or disabled by the options."""
        if text == "":
            return not self.active.is_same and not self.active.options.check
        return super().is_quiet(text, operation)

    def _measures(self, query: Query, prefix: str) -> tuple[Series | None, Any]:
        convention = self.active.convention
        own = convention.measures(query, self.server) if isinstance(convention, Official) else None
        return own if own and self.active.is_same else super()._measures(query, prefix)


def server_of(connection: Any) -> Server:
    """The server of a connection; that of a closed one is not known."""
    if connection.closed:
        return Server(POSTGRESQL)
    info = connection.info
    return Server(POSTGRESQL, (info.host, info.port), info.dbname, info.user)


def text_of(query: Any, link: Any, connection: Any) -> str:
    """The text of a query, as it is recorded and as its plans are kept.

    Args:
        query: What was passed to psycopg.
        link: The connection's `Link`.
        connection: The connection.
    """
    if type(query) is str:
        return query
    return texts.rendered(query, connection, with_values=isinstance(link.active.convention, Official))


def _convention(setup: Setup) -> Official | None:
    return Official(setup) if setup.rival else None


DATABASE: Final = Database(
    "psycopg",
    server_of,
    # PostgreSQL's errors have one.
    status_code=lambda error: getattr(error, "sqlstate", None),
    connection=lambda held: getattr(held, "_conn", held),
    link=LINK,
    options=Options,
    convention=_convention,
    make_plans=Plans,
)
