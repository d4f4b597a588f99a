"""What the drivers of the DB-API (PEP 249) share around their connections: connecting, and the ends of transactions."""

from __future__ import annotations

import functools
from time import time_ns
from typing import TYPE_CHECKING, Any

from otel_fastpath.db import calls
from otel_fastpath.db.connecting import tell_connect
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.calls import Opening
    from otel_fastpath.db.database import Database
    from otel_fastpath.db.servers import Server


def around_connect(
    database: Database, server_of: Callable[[Any, Any], Server], meant: Callable[[Any, Any], Server], original: Any
) -> Any:
    """Wrap a method of a connection that connects it.

    Args:
        database: The driver's `Database`.
        server_of: Returns the server of a connection, given the method's arguments after it has returned.
        meant: Returns the server that the method's arguments mean, after it has raised.
        original: The method.
    """

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        start_ns = time_ns()
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            server = call_guarded(database.place, meant, args, kwargs)
            if server is not None:
                call_guarded(database.place, tell_connect, database, start_ns, server, error)
            raise
        server = call_guarded(database.place, server_of, args, kwargs)
        if server is not None:
            call_guarded(database.place, tell_connect, database, start_ns, server)
        return result

    return connect


def always(command: str) -> Callable[..., str]:
    """Returns the `command` of `around_command` for a method that sends the same one whenever it is called."""
    return lambda *_args, **_kwargs: command


def around_command(database: Database, command: Callable[..., str | None], original: Any) -> Any:
    """Wrap a method of a connection that begins or ends a transaction.

    Args:
        database: The driver's `Database`.
        command: Returns the command that the method sends, given its arguments; None: it sends none.
        original: The method.
    """

    def open_query(args: Any, kwargs: Any) -> Opening:
        link = database.link(args[0])
        return link, link.plans.plan(command(*args, **kwargs)), None, None, None

    wrapped = calls.around_sync(database, open_query, calls.no_rows, original)

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        active = database.active
        is_seen = active is not None and not active.is_same and active.options.transactions
        if is_seen and call_guarded(database.place, command, *args) is not None:
            return wrapped(*args, **kwargs)
        return original(*args, **kwargs)

    return method
