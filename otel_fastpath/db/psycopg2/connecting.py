"""Connections: the classes of those that the application gets, connecting, and transactions.

`psycopg2.connect` calls `_connect`, also for who imported it before we instrumented. Our connections make subclasses of
the cursors that they are asked for, so that cursors of any factory are seen.
"""

from __future__ import annotations

import functools
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.connecting import begin_connect, tell_connect
from otel_fastpath.db.dbapi.connections import around_command
from otel_fastpath.db.derived import Derived
from otel_fastpath.db.libpq import server_meant, server_of
from otel_fastpath.db.psycopg2 import hooks
from otel_fastpath.db.psycopg2.plans import DATABASE, LINK
from otel_fastpath.db.servers import POSTGRESQL, Server
from otel_fastpath.patching.outcome import call_guarded, never_raises
from otel_fastpath.wrapping import call as skeleton

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: Final = "psycopg2's connect"
_FACTORY: Final = "connection_factory"
# psycopg2.extensions.STATUS_BEGIN and STATUS_PREPARED
_BEGUN, _PREPARED = 2, 5


def _make_cursor(sort: Callable[[bool], Derived], original: Any) -> Any:
    """Wrap `cursor` of a connection.

    Args:
        sort: Returns the classes of cursors, given whether the cursor is a named one.
        original: The method.
    """

    @functools.wraps(original)
    def cursor(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = None if DATABASE.active is None else call_guarded(DATABASE.place, _given, self, sort, args, kwargs)
        if given is None:
            return original(self, *args, **kwargs)
        classes, args, kwargs = given
        made = original(self, *args, **kwargs)
        call_guarded(DATABASE.place, classes.over, made)
        return made

    return cursor


def _given(connection: Any, sort: Any, args: Any, kwargs: Any) -> tuple[Derived, Any, Any]:
    """The classes of the cursor that is asked for, and the arguments of `cursor` with one of them as the factory."""
    from psycopg2 import extensions  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    name = args[0] if args else kwargs.get("name")
    classes = sort(name is not None)
    factory = args[1] if len(args) > 1 else kwargs.get("cursor_factory")
    if factory is None:
        factory = connection.cursor_factory
    if factory is None:
        factory = extensions.cursor
    # A factory that is a function makes a cursor, whose class is changed then.
    if isinstance(factory, type):
        factory = classes.of(factory)
    if len(args) > 1:
        return classes, (args[0], factory, *args[2:]), kwargs
    return classes, args, {**kwargs, "cursor_factory": factory}


def _transaction(command: Callable[..., str | None]) -> Callable[[Any], Any]:
    """Returns what wraps a method that sends this command."""
    return functools.partial(around_command, DATABASE, command)


def _in_transaction(connection: Any) -> bool:
    return connection.status == _BEGUN and not connection.autocommit


def _commit(connection: Any) -> str | None:
    return "COMMIT" if _in_transaction(connection) else None


def _rollback(connection: Any) -> str | None:
    return "ROLLBACK" if _in_transaction(connection) else None


def _tpc_begin(_connection: Any, _xid: Any = None) -> str:
    return "BEGIN"


def _tpc_prepare(_connection: Any) -> str:
    return "PREPARE TRANSACTION"


def _tpc_commit(connection: Any, xid: Any = None) -> str:
    return "COMMIT" if xid is None and connection.status != _PREPARED else "COMMIT PREPARED"


def _tpc_rollback(connection: Any, xid: Any = None) -> str:
    return "ROLLBACK" if xid is None and connection.status != _PREPARED else "ROLLBACK PREPARED"


def _sorted(is_named: bool) -> Derived:
    return hooks.NAMED_CURSORS if is_named else hooks.CURSORS


# The application's own, such as `DictConnection`'s, asks it for a class of its own.
_BELOW: Final = frozenset({"cursor"})
CONNECTIONS: Final = Derived(
    {
        "cursor": functools.partial(_make_cursor, _sorted),
        "commit": _transaction(_commit),
        "rollback": _transaction(_rollback),
        "tpc_begin": _transaction(_tpc_begin),
        "tpc_prepare": _transaction(_tpc_prepare),
        "tpc_commit": _transaction(_tpc_commit),
        "tpc_rollback": _transaction(_tpc_rollback),
    },
    (LINK,),
    below=_BELOW,
)
ASYNC_CONNECTIONS: Final = Derived(
    {
        "cursor": functools.partial(_make_cursor, lambda _is_named: hooks.ASYNC_CURSORS),
        "poll": hooks.make_poll,
        "close": hooks.make_close,
    },
    (LINK, hooks.PENDING),
    below=_BELOW,
)


def make_connect(original: Any) -> Any:
    """Wrap `psycopg2._connect`."""

    @functools.wraps(original)
    def _connect(*args: Any, **kwargs: Any) -> Any:
        given = None if DATABASE.active is None else call_guarded(_PLACE, _with_factory, args, kwargs)
        if given is None:
            return original(*args, **kwargs)
        classes, changed = given
        start_ns = time_ns()
        try:
            connection = original(args[0] if args else None, **changed)
        except BaseException as error:
            _after_failure(start_ns, args, error)
            raise
        _after_connect(start_ns, classes, args, connection)
        return connection

    return _connect


def _with_factory(args: Any, kwargs: Any) -> tuple[Derived, dict[str, Any]]:
    """The classes of the connection that is asked for, and the keyword arguments of `_connect` with one of them."""
    from psycopg2 import extensions  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    changed = {**dict(zip((_FACTORY, "async"), args[1:], strict=False)), **kwargs}
    classes = ASYNC_CONNECTIONS if changed.get("async") or changed.get("async_") else CONNECTIONS
    factory = changed.get(_FACTORY)
    if factory is None:
        factory = extensions.connection
    changed[_FACTORY] = classes.of(factory) if isinstance(factory, type) else factory
    return classes, changed


@never_raises(_PLACE)
def _after_connect(start_ns: int, classes: Derived, args: Any, connection: Any) -> None:
    classes.over(connection)
    if classes is CONNECTIONS:
        tell_connect(DATABASE, start_ns, server_of(connection))
        return
    # It is connected once it was polled; only then psycopg2 knows its server.
    call = skeleton.new()
    try:
        if begin_connect(call, DATABASE, start_ns, _meant(args)):
            call.leave()
            setattr(connection, hooks.PENDING, hooks.OpenPolledCall(call, None))
    except BaseException:
        try:
            call.end()
        finally:
            # See `wrapping.call`: the first may have been interrupted.
            call.end()
        raise


@never_raises(_PLACE)
def _after_failure(start_ns: int, args: Any, error: BaseException) -> None:
    tell_connect(DATABASE, start_ns, _meant(args), error)


def _meant(args: Any) -> Server:
    """The server that the arguments of `_connect` mean; the first one, if there are several."""
    from psycopg2 import ProgrammingError, extensions  # noqa: PLC0415  # likewise

    try:
        where = extensions.parse_dsn(args[0])
    except (ProgrammingError, IndexError, TypeError):
        # The arguments are wrong.
        return Server(POSTGRESQL)
    return server_meant(where)
