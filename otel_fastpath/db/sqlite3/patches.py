"""The patches of sqlite3 and aiosqlite, and the hook of this folder that each one uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.sqlite3 import connecting, threads
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_BUDGETS: Final = tuple(f"sqlite3, {each}" for each in ("execute", "execute of a connection", "transaction", "connect"))
_WHY: Final = "Connections and their cursors are of subclasses, whose statements and transactions are spans."
_THREAD: Final = "The context goes into aiosqlite's thread, where sqlite3 is called: spans have their parents."


def _hook(make: Callable[[Any], Any]) -> Callable[[Any, Config], Any]:
    return lambda original, _settings: make(original)


PATCHES: Final = (
    # Below "sqlite3", so that they are applied once the whole package is imported.
    *(
        Patch(f"sqlite3.{name}", f"sqlite3:{name}", _WHY, _hook(connecting.make_connect), budgets=_BUDGETS)
        for name in ("connect", "dbapi2.connect")
    ),
    *(
        Patch(
            f"sqlite3.aiosqlite.{name}",
            f"aiosqlite:core.Connection._{name}",
            _THREAD,
            _hook(make),
            requires=("aiosqlite>=0.17",),
            budgets=("sqlite3, execute in a thread",),
        )
        for name, make in (("execute", threads.make_execute), ("connect", threads.make_connect))
    ),
)
