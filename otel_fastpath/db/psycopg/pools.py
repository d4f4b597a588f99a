"""psycopg_pool's pools: how their metrics, which all databases share, are read, and where their events are recorded."""

from __future__ import annotations

import functools
import weakref
from time import perf_counter
from typing import Any, Final

from opentelemetry.context.context import Context

from otel_fastpath.compiled import hot
from otel_fastpath.db import pools
from otel_fastpath.db.psycopg.query_plans import DATABASE
from otel_fastpath.db.server_attributes import POSTGRESQL
from otel_fastpath.db.steps import around_steps
from otel_fastpath.patching.outcome import call_guarded, never_raises

_PLACE: Final = "a psycopg pool"
_WATCHED: Final = "_otel_fastpath"


class Watched(pools.WatchedPool):
    """What is stored for one pool, as an attribute of it. It keeps the pool alive no longer than that."""

    __slots__ = ("_pool",)

    def __init__(self, pool: Any) -> None:
        super().__init__()
        self._pool = weakref.ref(pool)

    def _alive(self) -> Any:
        pool = self._pool()
        if pool is None:
            raise ReferenceError("the pool is gone")
        return pool

    @property
    def is_open(self) -> bool:
        """Whether the pool still exists and is not closed."""
        pool = self._pool()
        return pool is not None and not pool.closed

    def server_name(self) -> str:
        """The name that the pool has."""
        return str(self._alive().name)

    def count(self) -> dict[str, int]:
        """The number of connections, by state."""
        return {"idle": len(self._alive()._pool), "used": len(self.borrowed)}

    def most(self) -> dict[str, int]:
        """The pool's `max_size`; a null pool may have none."""
        number = self._alive().max_size
        return {"": number} if number else {}

    most_idle = most

    def least_idle(self) -> dict[str, int]:
        """The pool's `min_size`."""
        return {"": self._alive().min_size}

    def pending(self) -> dict[str, int]:
        """The number of requests in the pool's queue."""
        return {"": len(self._alive()._waiting)}


_registry: weakref.WeakSet[Watched] = weakref.WeakSet()


def watched(pool: Any) -> Watched:
    """The stored `Watched` of this pool."""
    found: Watched | None = vars(pool).get(_WATCHED)
    if found is None:
        found = vars(pool)[_WATCHED] = Watched(pool)
        _registry.add(found)
    return found


_WRAPPERS: Final = pools.PoolWrappers(DATABASE, _PLACE, watched, _registry, POSTGRESQL.name)


def make_getconn(original: Any) -> Any:
    """Wrap `getconn`, which every way to get a connection calls."""
    return _WRAPPERS.around_acquire(id, lambda error: type(error).__name__ == "PoolTimeout", original)


def make_putconn(original: Any) -> Any:
    """Wrap `putconn`, which every way to return a connection calls."""
    return around_steps(_after_release, _ignore, _ignore, original)


def _ignore(_begun: list[Any], _args: Any, _outcome: Any) -> None:
    """Nothing follows."""


@never_raises(_PLACE)
def _after_release(_begun: list[Any], args: Any, kwargs: Any) -> None:
    metrics = _WRAPPERS.metrics()
    if metrics is not None:
        watched(args[0]).record_release(metrics, id(args[1] if len(args) > 1 else kwargs.get("conn")))


def make_connect(original: Any) -> Any:
    """Wrap `_connect`, which connects and calls the pool's `configure`."""
    return around_steps(_clock, _after_connect, _ignore, original)


def _clock(begun: list[Any], _args: Any, _kwargs: Any) -> None:
    begun.append(perf_counter())


@never_raises(_PLACE)
def _after_connect(begun: list[Any], args: Any, _connection: Any) -> None:
    metrics = _WRAPPERS.metrics()
    if metrics is not None:
        watched(args[0]).record_connect(metrics, *begun)


def make_start(original: Any) -> Any:
    """Wrap `_start_workers`: what the pool does by itself is in no trace, not in that of whoever opened it."""
    current_context = hot.trace_context_current_context

    @functools.wraps(original)
    def _start_workers(*args: Any, **kwargs: Any) -> Any:
        token = call_guarded(_PLACE, _leave_trace, current_context)
        try:
            return original(*args, **kwargs)
        finally:
            if token is not None:
                call_guarded(_PLACE, current_context.restore, token)

    return _start_workers


def _leave_trace(current_context: Any) -> Any:
    """Make an empty context the current one, and return its token; None if what is done here is suppressed."""
    active = DATABASE.active
    # What the pool does later is then to be suppressed, too.
    if active is None or active.hot.is_suppressed():
        return None
    return current_context.attach_context(Context())
