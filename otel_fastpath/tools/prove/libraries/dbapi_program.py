"""A driver of the DB-API that somebody has instrumented with `opentelemetry-instrumentation-dbapi`."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation import dbapi

from otel_fastpath.tools.prove.libraries.modes import in_mode, providers
from otel_fastpath.tools.prove.libraries.queries_drawn import query
from otel_fastpath.tools.prove.releases import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.tools.prove.program import ProgramRun

_COMMENTS: Final[tuple[dict[str, Any], ...]] = ({}, {"db_driver": False}, {"opentelemetry_values": False})
_ATTRIBUTES: Final = {"database": "database", "port": "port", "host": "host", "user": "user"}


class _Connection:
    """A connection of a driver with attributes that are recorded."""

    database, host, port, user = "shop", "localhost", 5432, "ann"

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.execute("CREATE TABLE items (number)")

    def cursor(self) -> Any:
        """A cursor."""
        return self._connection.cursor()

    def listen(self, call: Any) -> None:
        """Let it be called with the text of each query that the database gets."""
        self._connection.set_trace_callback(call)

    def commit(self) -> None:
        """Commit."""
        self._connection.commit()

    def rollback(self) -> None:
        """Roll back."""
        self._connection.rollback()

    def close(self) -> None:
        """Close."""
        self._connection.close()


def run_dbapi(run: ProgramRun) -> None:
    """Queries through a driver that this package does not know."""
    given = providers(run.telemetry(), "tracer", "meter")
    driver: Any = SimpleNamespace(connect=_Connection, paramstyle="qmark", __version__="1.0", __name__="driver")
    with in_mode(run):
        make(
            dbapi.wrap_connect,
            __name__,
            driver,
            "connect",
            "sqlite",
            _ATTRIBUTES,
            version="1.0",
            capture_parameters=run.seed % 2 == 1,
            enable_commenter=run.seed % 3 == 1,
            commenter_options=_COMMENTS[run.seed % len(_COMMENTS)],
            enable_attribute_commenter=run.seed % 4 == 1,
            **given,
        )
        connection = driver.connect()
        cursor = connection.cursor()
        # With the comment that was added; the ids in it are the seed's.
        connection.listen(run.outcomes.append)

        def ask(text: str, parameters: Sequence[Any]) -> Any:
            if run.seed % 5 == 0:
                cursor.executemany(text, [parameters, parameters])
                return None
            cursor.execute(text, parameters)
            return tuple(cursor.fetchall())

        query(run, ask, is_difficult=True)
        run.attempt(connection.commit)
        run.attempt(connection.close)


PROGRAM: Final = run_dbapi
