"""Connecting: one span for each `connect`, also for those of pools.

The span is made once the server is known, with the time of the call as its start.
"""

from __future__ import annotations

import functools
import inspect
from types import MethodType
from typing import Any, Final

from otel_fastpath.db.connecting import around_connect
from otel_fastpath.db.libpq import server_meant, server_of
from otel_fastpath.db.psycopg.query_plans import DATABASE
from otel_fastpath.db.server_attributes import POSTGRESQL, Server

# The parameters that say where a connection goes.
_WHERE: Final = ("host", "hostaddr", "port", "dbname", "user")


def make_connect(original: Any) -> Any:
    """Wrap `connect` of a class.

    The stock instrumentation, uninstrumented, leaves a method there that is bound to the class: with it, a subclass
    would connect as its base class.
    """
    return classmethod(_wrapped(_function_of(original)))


def make_module_connect(original: Any) -> Any:
    """Wrap `psycopg.connect`, which is the method of its class."""
    if type(original) is MethodType:
        return MethodType(_wrapped(original.__func__), original.__self__)

    @functools.wraps(original)
    def connect(_owner: Any, *args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    return MethodType(_wrapped(connect), original)


def _function_of(original: Any) -> Any:
    """The function of a `connect` of a class, called with the class first; other code may have wrapped the method."""
    if type(original) in {classmethod, MethodType}:
        return original.__func__

    def bound(owner: Any) -> Any:
        return original.__get__(None, owner)

    if inspect.iscoroutinefunction(original.__func__):

        @functools.wraps(original.__func__)
        async def connect(owner: Any, *args: Any, **kwargs: Any) -> Any:
            return await bound(owner)(*args, **kwargs)

    else:

        @functools.wraps(original.__func__)
        def connect(owner: Any, *args: Any, **kwargs: Any) -> Any:
            return bound(owner)(*args, **kwargs)

    return connect


def _wrapped(function: Any) -> Any:
    return around_connect(DATABASE, lambda connection, *_: server_of(connection), _meant, function)


def _meant(args: Any, kwargs: Any) -> Server:
    """The server that these arguments of `connect` mean; the first one, if there are several."""
    from psycopg import Error, conninfo  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    text = args[1] if len(args) > 1 else kwargs.get("conninfo", "")
    try:
        where = conninfo.conninfo_to_dict(text, **{key: kwargs[key] for key in _WHERE if key in kwargs})
    except (Error, TypeError, AttributeError):
        # The arguments are wrong.
        return Server(POSTGRESQL)
    return server_meant(where)
