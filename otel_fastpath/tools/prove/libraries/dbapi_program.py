"""A driver of the DB-API that somebody has instrumented with `opentelemetry-instrumentation-dbapi`."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import context, trace
from opentelemetry.instrumentation import dbapi

from otel_fastpath.tools.prove.libraries.modes import around, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.queries_drawn import query
from otel_fastpath.tools.prove.releases import make

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from otel_fastpath.tools.prove.program import ProgramRun
    from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

_NAMES: Final = ("db_driver", "dbapi_level", "dbapi_threadsafety", "driver_paramstyle", "mysql_client_version")
_COMMENTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"db_driver": False},
    {"opentelemetry_values": False},
    {"opentelemetry_values": False, **dict.fromkeys(_NAMES, False)},
)
_TAGS: Final = "SQLCOMMENTER_ORM_TAGS_AND_VALUES"
_CONNECTOR: Final = "mysql.connector"


class _Composed:
    """A query that is made when it is asked for.

    Args:
        text: Its text; nothing: it cannot be made.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def as_string(self, connection: Any) -> str:
        """Its text."""
        if not self._text:
            raise LookupError(type(connection).__name__)
        return self._text


class _EndingComposed(_Composed):
    """One that ends the current span when it is made."""

    def as_string(self, connection: Any) -> str:
        """Its text."""
        trace.get_current_span().end()
        return super().as_string(connection)


# Some fail, or have no text.
_DIFFICULT: Final[tuple[tuple[Any, ...], ...]] = (
    ("SELECT nothing FROM nowhere", ()),
    ("", ()),
    ("SELECT 3;", ()),
    (),
    (5, ()),
    (_Composed("SELECT 4"), ()),
    (_Composed(""), ()),
    (_EndingComposed("SELECT 5"), ()),
)


class _NativeCursor(sqlite3.Cursor):
    """A cursor of MySQL's own driver."""

    _cnx = SimpleNamespace(_cmysql=SimpleNamespace(get_client_info=lambda: "8.0"))


class _OtherCursor(sqlite3.Cursor):
    """One that was made by somebody else."""

    _connection = SimpleNamespace(_cmysql=SimpleNamespace(get_client_info=lambda: "8.1"))


class _NamedDriver(NamedTuple):
    """A driver: its name, its database system, its cursors, and the attributes of its connections that are recorded."""

    name: str = "driver"
    system: str = "sqlite"
    cursors: type[sqlite3.Cursor] = sqlite3.Cursor
    attributes: tuple[str, ...] = ("database", "port", "host", "user")


_DRIVERS: Final = (
    _NamedDriver(),
    _NamedDriver(_CONNECTOR, "mysql", _NativeCursor),
    _NamedDriver(_CONNECTOR, "mysql", _OtherCursor, ("database", "host")),
    _NamedDriver("", "other_sql", attributes=()),
    _NamedDriver(_CONNECTOR, "mysql"),
)


class _Connection:
    """A connection of a driver with attributes that are recorded."""

    database, host, port, user = "shop", "localhost", 5432, "ann"

    def __init__(self, cursors: type[sqlite3.Cursor]) -> None:
        self._cursors = cursors
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.execute("CREATE TABLE items (number)")

    def cursor(self) -> Any:
        """A cursor."""
        return self._connection.cursor(self._cursors)

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


def _instrumented(run: ProgramRun, telemetry: KeptTelemetry, driver: _NamedDriver) -> Any:
    """A module that is this driver."""
    module: Any = SimpleNamespace(connect=lambda: _Connection(driver.cursors), paramstyle="qmark", threadsafety=1)
    if driver.name != _CONNECTOR:
        module.__version__ = "1.0 (dt)"
    if driver.name:
        module.__name__ = driver.name
    make(
        dbapi.wrap_connect,
        __name__,
        module,
        "connect",
        driver.system,
        {name: name for name in driver.attributes},
        version="1.0",
        capture_parameters=run.seed % 2 == 1,
        enable_commenter=run.seed % 3 == 1,
        commenter_options=_COMMENTS[run.seed % len(_COMMENTS)],
        enable_attribute_commenter=run.seed % 2 == 0,
        **providers(telemetry, "tracer", "meter"),
    )
    return module


@contextmanager
def _tagged(draw: random.Random) -> Iterator[None]:
    """With what a framework adds to comments, or not."""
    token = None if draw.randrange(2) else context.attach(context.set_value(_TAGS, {"route": "/items/{number}"}))
    yield
    if token is not None:
        context.detach(token)


def run_dbapi(run: ProgramRun) -> None:
    """Queries through a driver that this package does not know."""
    telemetry = run.telemetry()
    with in_mode(run), setting_up(telemetry):
        connection = _instrumented(run, telemetry, _DRIVERS[run.seed % len(_DRIVERS)]).connect()
        # Its version is that of a package, which may not be installed.
        run.attempt(_instrumented(run, telemetry, _NamedDriver("MySQLdb")).connect)
    with in_mode(run):
        cursor = connection.cursor()
        # With the comment that was added; the ids in it are the seed's.
        connection.listen(run.outcomes.append)

        def ask(*args: Any) -> Any:
            with around(run, telemetry), _tagged(run.draw):
                if run.seed % 5 == 0 and args:
                    return bool(cursor.executemany(args[0], [args[1], args[1]]))
                cursor.execute(*args)
                return tuple(cursor.fetchall())

        # What stock sends of it with a comment cannot be read: docs/differences.md.
        query(run, ask, _DIFFICULT if run.seed % 3 == 1 else (*_DIFFICULT, (b"SELECT 5", ())))
        run.attempt(connection.commit)
        run.attempt(connection.close)


PROGRAM: Final = run_dbapi
