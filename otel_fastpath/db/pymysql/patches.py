"""The patches of PyMySQL, and the hook of the folder above that each one uses."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import cursors
from otel_fastpath.db.dbapi import procedures
from otel_fastpath.db.dbapi.connections import always, around_command, around_connect
from otel_fastpath.db.pymysql.plans import DATABASE, DRIVER, server_of
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable


def _patch(name: str, target: str, why: str, make: Callable[[Any], Any], budget: str) -> Patch:
    # Below "pymysql", so that it is applied once the whole package is imported.
    return Patch(
        f"pymysql.{name}",
        f"pymysql:{target}",
        why,
        lambda original, _settings: make(original),
        requires=("pymysql>=1,<2",),
        budgets=(f"pymysql, {budget}",),
    )


_END: Final = "What begins or ends a transaction is a span."

PATCHES: Final = (
    *(
        _patch(name, f"cursors.Cursor.{name}", why, functools.partial(make, DRIVER), budget)
        for name, why, make, budget in (
            ("execute", "A query is a span.", cursors.around_execute, "execute"),
            ("executemany", "A query with many sets of parameters is one span.", cursors.around_executemany, "execute"),
            ("callproc", "The call of a procedure is a span.", procedures.around, "execute"),
        )
    ),
    *(
        _patch(
            name,
            f"connections.Connection.{name}",
            _END,
            functools.partial(around_command, DATABASE, always(name.upper())),
            "commit",
        )
        for name in ("begin", "commit", "rollback")
    ),
    _patch(
        "connect",
        "connections.Connection.connect",
        "Each connect is a span, also one of `ping`.",
        functools.partial(
            around_connect, DATABASE, lambda args, _kwargs: server_of(args[0]), lambda args, _kwargs: server_of(args[0])
        ),
        "connect",
    ),
)
