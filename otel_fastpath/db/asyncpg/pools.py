"""asyncpg's pools: how their metrics, which all databases share, are read, and where their events are recorded.

A pool has slots and supports no weak references, so our data is stored on its queue, which lives as long.
"""

from __future__ import annotations

import functools
import weakref
from asyncio import TimeoutError as AsyncioTimeoutError
from time import perf_counter
from typing import Any, Final

from otel_fastpath.db import pools
from otel_fastpath.db.asyncpg import query_plans
from otel_fastpath.db.server_attributes import POSTGRESQL
from otel_fastpath.patching.outcome import never_raises

_PLACE: Final = "an asyncpg pool"


class Watched(pools.WatchedPool):
    """What is stored for one pool, as an attribute of its queue. It keeps the pool alive no longer than that."""

    __slots__ = ("_holders",)

    def __init__(self, pool: Any) -> None:
        super().__init__()
        self._holders = pool._holders

    def _pool(self) -> Any:
        return self._holders[0]._pool if self._holders else None

    @property
    def is_open(self) -> bool:
        """Whether the pool still exists and is not closed."""
        pool = self._pool()
        return pool is not None and not pool._closed

    def server_name(self) -> str:
        """The name of the server that one of its connections is connected to."""
        for holder in self._holders:
            connection = holder._con
            if connection is not None and getattr(connection, "_params", None) is not None:
                return query_plans.server_of(connection._addr, connection._params).name
        return ""

    def count(self) -> dict[str, int]:
        """The number of holders that have a connection, by state."""
        states = {"idle": 0, "used": 0}
        for holder in tuple(self._holders):
            if holder._con is not None and not holder._con.is_closed():
                states["used" if holder._in_use else "idle"] += 1
        return states

    def most(self) -> dict[str, int]:
        """The pool's `max_size`."""
        return {"": self._pool()._maxsize}

    most_idle = most

    def least_idle(self) -> dict[str, int]:
        """The pool's `min_size`."""
        return {"": self._pool()._minsize}

    def pending(self) -> dict[str, int]:
        """The number of waiters in the pool's queue."""
        return {"": sum(not waiter.done() for waiter in tuple(self._pool()._queue._getters))}


_registry: weakref.WeakSet[Watched] = weakref.WeakSet()


def watched(pool: Any) -> Watched | None:
    """The stored `Watched` of this pool; None: it has no queue yet."""
    queue = pool._queue
    if queue is None:
        return None
    try:
        found: Watched = queue._otel_fastpath
    except AttributeError:
        found = queue._otel_fastpath = Watched(pool)
        _registry.add(found)
    return found


_WRAPPERS: Final = pools.PoolWrappers(query_plans.DATABASE, _PLACE, watched, _registry, POSTGRESQL.name)


def make_acquire(original: Any) -> Any:
    """Wrap `Pool._acquire`, which every way to get a connection calls."""
    return _WRAPPERS.around_acquire(
        lambda proxy: proxy._holder, lambda error: isinstance(error, (TimeoutError, AsyncioTimeoutError)), original
    )


def make_release(original: Any) -> Any:
    """Wrap `PoolConnectionHolder._release`, which is called when a connection is returned or lost."""

    @functools.wraps(original)
    def release(*args: Any, **kwargs: Any) -> Any:
        _after_release(args[0])
        return original(*args, **kwargs)

    return release


@never_raises(_PLACE)
def _after_release(holder: Any) -> None:
    metrics, pool = _WRAPPERS.metrics(), watched(holder._pool)
    if metrics is not None and pool is not None:
        pool.record_release(metrics, holder)


def make_initialise(original: Any) -> Any:
    """Wrap `Pool._initialize`, so that a pool is known from its beginning."""

    @functools.wraps(original)
    async def initialize(*args: Any, **kwargs: Any) -> Any:
        result = await original(*args, **kwargs)
        _after_init(args[0])
        return result

    return initialize


@never_raises(_PLACE)
def _after_init(pool: Any) -> None:
    watched(pool)
    _WRAPPERS.metrics()


def make_new_connection(original: Any) -> Any:
    """Wrap `Pool._get_new_connection`, which connects and calls the pool's `init`."""

    @functools.wraps(original)
    async def get_new_connection(*args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        connection = await original(*args, **kwargs)
        _after_connect(args[0], connection, started)
        return connection

    return get_new_connection


@never_raises(_PLACE)
def _after_connect(pool: Any, connection: Any, started: float) -> None:
    metrics, of_pool = _WRAPPERS.metrics(), watched(pool)
    if metrics is not None and of_pool is not None:
        # The pool's holder does not have the connection yet.
        of_pool.name = of_pool.name or query_plans.server_of(connection._addr, connection._params).name
        of_pool.record_connect(metrics, started)
