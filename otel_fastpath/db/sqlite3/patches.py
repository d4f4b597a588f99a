"""The patches of sqlite3 and aiosqlite, and the hook of this folder that each one uses."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.sqlite3 import aiosqlite_threads, connecting
from otel_fastpath.db.sqlite3.query_plans import DATABASE

_BUDGETS: Final = ("execute", "execute of a connection", "transaction", "connect")
_WHY: Final = "Connections and their cursors are of subclasses, whose statements and transactions are spans."
_THREAD: Final = "The context goes into aiosqlite's thread, where sqlite3 is called: spans have their parents."

PATCHES: Final = (
    # Below "sqlite3", so that they are applied once the whole package is imported.
    *(
        DATABASE.patch(name, f"sqlite3:{name}", _WHY, connecting.make_connect, *_BUDGETS)
        for name in ("connect", "dbapi2.connect")
    ),
    *(
        DATABASE.patch(
            f"aiosqlite.{name}",
            f"aiosqlite:core.Connection._{name}",
            _THREAD,
            make,
            "execute in a thread",
            requires=("aiosqlite>=0.17",),
        )
        for name, make in (("execute", aiosqlite_threads.make_execute), ("connect", aiosqlite_threads.make_connect))
    ),
)
