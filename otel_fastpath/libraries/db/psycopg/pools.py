"""psycopg_pool's pools: how their metrics, which all databases share, are read, and where their events are recorded."""

from __future__ import annotations

import functools
import weakref
from time import perf_counter
from typing import Any, Final

from opentelemetry.context.context import Context

from otel_fastpath import compiled
from otel_fastpath.libraries.db import calls, pools
from otel_fastpath.libraries.db.psycopg.plans import DATABASE
from otel_fastpath.libraries.db.servers import POSTGRESQL
from otel_fastpath.patching.outcome import guarded, never_raises

_PLACE: Final = "a psycopg pool"
_WATCHED: Final = "_otel_fastpath"


class Watched(pools.Watched):
    """What is stored for one pool.

    Args:
        pool: The pool. This object is an attribute of it, and keeps it alive no longer than that.
    """

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


def _metrics() -> pools.PoolMetrics | None:
    return pools.metrics_of(DATABASE, POSTGRESQL.name, _registry)


def make_getconn(original: Any) -> Any:
    """Wrap `getconn`, which every way to get a connection calls."""
    return calls.around_steps(_request, _acquired, _not_acquired, original)


def _request(args: Any, _kwargs: Any) -> tuple[float, Any]:
    return perf_counter(), _begin(args[0])


@never_raises(_PLACE)
def _begin(pool: Any) -> Any:
    active = DATABASE.active
    if active is None or not active.options.acquire:
        return None
    return pools.begin_acquire(active, watched(pool), POSTGRESQL.name)


@never_raises(_PLACE)
def _acquired(request: tuple[float, Any], args: Any, connection: Any) -> None:
    started, call = request
    try:
        metrics = _metrics()
        if metrics is not None:
            watched(args[0]).was_acquired(metrics, id(connection), started)
    finally:
        if call is not None:
            call.end()


@never_raises(_PLACE)
def _not_acquired(request: tuple[float, Any], args: Any, error: BaseException) -> None:
    _, call = request
    try:
        metrics = _metrics()
        if metrics is not None and type(error).__name__ == "PoolTimeout":
            watched(args[0]).timed_out(metrics)
    finally:
        if call is not None:
            call.fail(error)


def make_putconn(original: Any) -> Any:
    """Wrap `putconn`, which every way to return a connection calls."""
    return calls.around_steps(_released, _ignored, _ignored, original)


def _ignored(_begun: Any, _args: Any, _outcome: Any) -> None:
    """Nothing follows."""


@never_raises(_PLACE)
def _released(args: Any, kwargs: Any) -> None:
    metrics = _metrics()
    if metrics is not None:
        watched(args[0]).was_released(metrics, id(args[1] if len(args) > 1 else kwargs.get("conn")))


def make_connect(original: Any) -> Any:
    """Wrap `_connect`, which connects and calls the pool's `configure`."""
    return calls.around_steps(_clock, _connected, _ignored, original)


def _clock(_args: Any, _kwargs: Any) -> float:
    return perf_counter()


@never_raises(_PLACE)
def _connected(started: float, args: Any, _connection: Any) -> None:
    metrics = _metrics()
    if metrics is not None:
        watched(args[0]).was_connected(metrics, started)


def make_start(original: Any) -> Any:
    """Wrap `_start_workers`: what the pool does by itself is in no trace, not in that of whoever opened it."""
    hot = compiled.hot("trace.context.current_context")

    @functools.wraps(original)
    def _start_workers(*args: Any, **kwargs: Any) -> Any:
        token = guarded(_PLACE, _left_trace, hot)
        try:
            return original(*args, **kwargs)
        finally:
            if token is not None:
                guarded(_PLACE, hot.restore, token)

    return _start_workers


def _left_trace(hot: Any) -> Any:
    """Make an empty context the current one, and return its token; None if what is done here is suppressed."""
    active = DATABASE.active
    # What the pool does later is then to be suppressed, too.
    if active is None or active.hot.is_suppressed():
        return None
    return hot.attach_context(Context())
