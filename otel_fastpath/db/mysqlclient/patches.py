"""The patches of mysqlclient, and the hook of the folder above that each one uses."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.connecting import around_connect
from otel_fastpath.db.dbapi import mysql
from otel_fastpath.db.mysqlclient.query_plans import DATABASE, meant, store_server

_REQUIRES: Final = "mysqlclient>=2,<3"

PATCHES: Final = (
    *mysql.patches(DATABASE, "MySQLdb.cursors:BaseCursor", "MySQLdb.connections:Connection", _REQUIRES),
    DATABASE.patch(
        "connect",
        "MySQLdb.connections:Connection.__init__",
        "Each connect is a span.",
        functools.partial(around_connect, DATABASE, store_server, meant),
        "connect",
        requires=(_REQUIRES,),
        benched="pymysql",
    ),
)
