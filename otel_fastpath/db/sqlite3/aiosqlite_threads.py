"""aiosqlite, which calls sqlite3 in a thread for each connection: the caller's context goes with each call."""

from __future__ import annotations

import functools
from contextvars import copy_context
from typing import Any

from otel_fastpath.db.sqlite3.query_plans import DATABASE


def make_execute(original: Any) -> Any:
    """Wrap `Connection._execute`, which hands a function to the thread."""

    @functools.wraps(original)
    async def _execute(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        if DATABASE.active is None:
            return await original(self, fn, *args, **kwargs)
        return await original(self, copy_context().run, fn, *args, **kwargs)

    return _execute


def make_connect(original: Any) -> Any:
    """Wrap `Connection._connect`, which hands it the function that connects."""

    @functools.wraps(original)
    async def _connect(self: Any) -> Any:
        if DATABASE.active is not None and self._connection is None:
            self._connector = functools.partial(copy_context().run, self._connector)
        return await original(self)

    return _connect
