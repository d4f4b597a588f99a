"""Connections: the classes of those that the application gets, connecting, and transactions.

`psycopg2.connect` calls `_connect`, also for who imported it before we instrumented. Our connections make subclasses of
the cursors that they are asked for, so that cursors of any factory are seen.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.call_wrappers import always, around_command
from otel_fastpath.db.connecting import around_connect, begin_connect
from otel_fastpath.db.derived import Derived
from otel_fastpath.db.libpq import server_meant, server_of
from otel_fastpath.db.psycopg2 import hooks
from otel_fastpath.db.psycopg2.query_plans import CONNECTION_PLAN, DATABASE
from otel_fastpath.db.server_attributes import POSTGRESQL, Server
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.wrapping.call import new

if TYPE_CHECKING:
    from collections.abc import Callable

_FACTORY: Final = "connection_factory"
# psycopg2.extensions.STATUS_BEGIN and STATUS_PREPARED
_BEGUN, _PREPARED = 2, 5
_ENDS: Final = ("COMMIT", "ROLLBACK")


def _make_cursor(sort: Callable[[bool], Derived], original: Any) -> Any:
    """Wrap `cursor` of a connection; `sort` returns the classes of cursors, given whether it is a named one."""

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


def _command(name: str, connection: Any) -> str | None:
    return name if connection.status == _BEGUN and not connection.autocommit else None


def _command_prepared(name: str, connection: Any, xid: Any = None) -> str:
    return name if xid is None and connection.status != _PREPARED else f"{name} PREPARED"


def _around_command(command: Callable[..., str | None]) -> Callable[[Any], Any]:
    return functools.partial(around_command, DATABASE, command)


# The application's own, such as `DictConnection`'s, asks it for a class of its own.
_BELOW: Final = frozenset({"cursor"})
CONNECTIONS: Final = Derived(
    {
        "cursor": functools.partial(_make_cursor, lambda is_named: hooks.NAMED_CURSORS if is_named else hooks.CURSORS),
        **{name.lower(): _around_command(functools.partial(_command, name)) for name in _ENDS},
        **{f"tpc_{name.lower()}": _around_command(functools.partial(_command_prepared, name)) for name in _ENDS},
        "tpc_begin": _around_command(always("BEGIN")),
        "tpc_prepare": _around_command(always("PREPARE TRANSACTION")),
    },
    (CONNECTION_PLAN,),
    below=_BELOW,
)
ASYNC_CONNECTIONS: Final = Derived(
    {
        "cursor": functools.partial(_make_cursor, lambda _is_named: hooks.ASYNC_CURSORS),
        "poll": hooks.make_poll,
        "close": hooks.make_close,
    },
    (CONNECTION_PLAN, hooks.PENDING),
    below=_BELOW,
)


def make_connect(original: Any) -> Any:
    """Wrap `psycopg2._connect`."""
    wrapped = around_connect(DATABASE, _after_connect, _meant, original)

    @functools.wraps(original)
    def _connect(*args: Any, **kwargs: Any) -> Any:
        changed = None if DATABASE.active is None else call_guarded(DATABASE.place, _with_factory, args, kwargs)
        return original(*args, **kwargs) if changed is None else wrapped(args[0] if args else None, **changed)

    return _connect


def _with_factory(args: Any, kwargs: Any) -> dict[str, Any]:
    """The keyword arguments of `_connect`, with a subclass of the connection's class."""
    from psycopg2 import extensions  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    changed = {**dict(zip((_FACTORY, "async"), args[1:], strict=False)), **kwargs}
    classes = _classes_of(changed)
    factory = changed.get(_FACTORY)
    if factory is None:
        factory = extensions.connection
    changed[_FACTORY] = classes.of(factory) if isinstance(factory, type) else factory
    return changed


def _classes_of(kwargs: Any) -> Derived:
    return ASYNC_CONNECTIONS if kwargs.get("async") or kwargs.get("async_") else CONNECTIONS


def _after_connect(connection: Any, args: Any, kwargs: Any, start_ns: int) -> Server | None:
    classes = _classes_of(kwargs)
    classes.over(connection)
    if classes is CONNECTIONS:
        return server_of(connection)
    # It is connected once it was polled; only then psycopg2 knows its server.
    call = new()
    try:
        if begin_connect(call, DATABASE, start_ns, _meant(args, kwargs)):
            call.leave()
            setattr(connection, hooks.PENDING, hooks.OpenPolledCall(call, None))
    except BaseException:
        try:
            call.end()
        finally:
            # See `wrapping.call`: the first may have been interrupted.
            call.end()
        raise
    return None


def _meant(args: Any, _kwargs: Any) -> Server:
    """The server that the arguments of `_connect` mean; the first one, if there are several."""
    from psycopg2 import ProgrammingError, extensions  # noqa: PLC0415  # likewise

    try:
        where = extensions.parse_dsn(args[0])
    except (ProgrammingError, IndexError, TypeError):
        # The arguments are wrong.
        return Server(POSTGRESQL)
    return server_meant(where)
