"""The patches of mysqlclient, and the hook of the folder above that each one uses."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import cursors
from otel_fastpath.db.dbapi import procedures
from otel_fastpath.db.dbapi.connections import always, around_command, around_connect
from otel_fastpath.db.mysqlclient.plans import DATABASE, DRIVER, meant, store_server
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable


def _patch(name: str, target: str, why: str, make: Callable[[Any], Any]) -> Patch:
    return Patch(
        f"mysqlclient.{name}",
        f"MySQLdb.{target}",
        why,
        lambda original, _settings: make(original),
        requires=("mysqlclient>=2,<3",),
        # The same hooks.
        budgets=("pymysql, execute", "pymysql, commit", "pymysql, connect"),
    )


_END: Final = "What begins or ends a transaction is a span."

PATCHES: Final = (
    *(
        _patch(name, f"cursors:BaseCursor.{name}", why, functools.partial(make, DRIVER))
        for name, why, make in (
            ("execute", "A query is a span.", cursors.around_execute),
            ("executemany", "A query with many sets of parameters is one span.", cursors.around_executemany),
            ("callproc", "The call of a procedure is a span.", procedures.around),
        )
    ),
    *(
        _patch(
            name,
            f"connections:Connection.{name}",
            _END,
            functools.partial(around_command, DATABASE, always(name.upper())),
        )
        for name in ("begin", "commit", "rollback")
    ),
    _patch(
        "connect",
        "connections:Connection.__init__",
        "Each connect is a span.",
        functools.partial(around_connect, DATABASE, lambda args, kwargs: store_server(args[0], args, kwargs), meant),
    ),
)
