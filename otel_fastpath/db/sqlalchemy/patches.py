"""The patches of SQLAlchemy, and the hook of this folder that each one uses."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.sqlalchemy import hooks, pool_hooks
from otel_fastpath.db.sqlalchemy.engines import DATABASE

_POOL: Final = "connect and select"


_ENDS: Final = "The end of a transaction is a span."

# Below "sqlalchemy", so that they are applied once the whole package is imported.
PATCHES: Final = tuple(
    DATABASE.patch(name, f"sqlalchemy:{target}", why, hook, budget, requires=("sqlalchemy>=2.0,<2.2",))
    for name, target, why, hook, budget in (
        (
            "execute",
            "engine.base.Connection._exec_single_context",
            "A statement of Core or the ORM is a span.",
            hooks.around_execute,
            "select",
        ),
        (
            "insertmany",
            "engine.base.Connection._exec_insertmany_context",
            "Rows that are inserted by several statements (insertmanyvalues) are one operation, which is a span.",
            functools.partial(hooks.around, hooks.many),
            "insertmanyvalues",
        ),
        (
            "default",
            "engine.base.Connection._cursor_execute",
            "A statement for the default of a column, such as a sequence, is a span.",
            functools.partial(hooks.around, hooks.default),
            "select",
        ),
        (
            "commit",
            "engine.base.Connection._commit_impl",
            _ENDS,
            functools.partial(hooks.around_end, "COMMIT"),
            "commit",
        ),
        (
            "rollback",
            "engine.base.Connection._rollback_impl",
            _ENDS,
            functools.partial(hooks.around_end, "ROLLBACK"),
            "commit",
        ),
        (
            "ping",
            "engine.default.DefaultDialect._do_ping_w_event",
            "The check of a pool's connection has no span, neither of SQLAlchemy nor of the driver.",
            hooks.around_ping,
            _POOL,
        ),
        (
            "connect",
            "pool.base._ConnectionRecord._ConnectionRecord__connect",
            "Making a connection, with all that the dialect then asks the server, is a span.",
            pool_hooks.make_connect,
            "connect",
        ),
        (
            "pool.acquire",
            "engine.base.Engine.raw_connection",
            "Waiting for a connection is a metric, and a span for who asked for it, or if there is none in time.",
            pool_hooks.make_acquire,
            _POOL,
        ),
        (
            "pool.release",
            "pool.base._ConnectionRecord.checkin",
            "How long a connection was borrowed is a metric.",
            pool_hooks.make_release,
            _POOL,
        ),
    )
)
