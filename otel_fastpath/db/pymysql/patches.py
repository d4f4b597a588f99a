"""The patches of PyMySQL, and the hook of the folder above that each one uses."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.connecting import around_connect
from otel_fastpath.db.dbapi import mysql
from otel_fastpath.db.pymysql.query_plans import DATABASE, server_of

_REQUIRES: Final = "pymysql>=1,<2"

# Below "pymysql", so that they are applied once the whole package is imported.
PATCHES: Final = (
    *mysql.patches(DATABASE, "pymysql:cursors.Cursor", "pymysql:connections.Connection", _REQUIRES),
    DATABASE.patch(
        "connect",
        "pymysql:connections.Connection.connect",
        "Each connect is a span, also one of `ping`.",
        functools.partial(
            around_connect,
            DATABASE,
            lambda _none, args, *_: server_of(args[0]),
            lambda args, _kwargs: server_of(args[0]),
        ),
        "connect",
        requires=(_REQUIRES,),
    ),
)
