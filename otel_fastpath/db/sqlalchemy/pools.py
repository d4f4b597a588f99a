"""SQLAlchemy's pools: what is stored for one, as an attribute of it, and how the metrics of all pools are read."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.metrics import Observation

from otel_fastpath.db import pools
from otel_fastpath.db.sqlalchemy.engines import CONNECTION_PLAN, DATABASE, server_of
from otel_fastpath.db.sqlalchemy.stock_telemetry import StockConventions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


PLACE: Final = "a pool of SQLAlchemy"
_USAGE: Final = "db.client.connections.usage"


class Watched(pools.WatchedPool):
    """What is stored for one pool, as an attribute of it, with the engine that it was used by."""

    __slots__ = ("_engine", "_pool")

    def __init__(self, pool: Any, engine: Any) -> None:
        super().__init__()
        # A connection that is detached from its pool is never returned.
        self.borrowed = weakref.WeakKeyDictionary()
        self._pool = weakref.ref(pool)
        self._engine = weakref.ref(engine)

    @property
    def engine(self) -> Any:
        """The engine; None: it no longer exists."""
        return self._engine()

    @property
    def is_open(self) -> bool:
        """Whether the pool still exists, and its engine was not disposed of."""
        pool, engine = self._pool(), self._engine()
        return pool is not None and (engine is None or engine.pool is pool)

    def server_name(self) -> str:
        """The name that the application gave the pool, or that of the server; a file is its own."""
        engine = self._engine()
        found: str | None = getattr(self._pool(), "logging_name", None)
        if found or engine is None:
            return found or ""
        server = server_of(engine)
        return server.name if server.address else server.namespace or server.system.name

    def count(self) -> Mapping[str, int]:
        """The number of connections; pools that keep none, or one for each thread, know only those in use."""
        pool: Any = self._pool()
        if not hasattr(pool, "checkedin"):
            return {"used": len(self.borrowed)}
        return {"idle": pool.checkedin(), "used": max(pool.checkedout(), 0)}

    def most(self) -> Mapping[str, int]:
        """The pool's size and its overflow, if that is limited."""
        pool: Any = self._pool()
        most = getattr(pool, "_max_overflow", -1)
        return {"": pool.size() + most} if most >= 0 else {}

    def most_idle(self) -> Mapping[str, int]:
        """The pool's size, if it is limited."""
        pool: Any = self._pool()
        size = pool.size() if hasattr(pool, "checkedin") else 0
        return {"": size} if size > 0 else {}

    def pending(self) -> Mapping[str, int]:
        """The number of waiters of the pool's queue."""
        queue: Any = getattr(self._pool(), "_pool", None)
        if hasattr(queue, "not_empty"):
            return {"": len(queue.not_empty._waiters)}
        waiting = getattr(getattr(queue, "_queue", None), "_getters", None)
        return {} if waiting is None else {"": sum(not waiter.done() for waiter in tuple(waiting))}


_registry: weakref.WeakSet[Watched] = weakref.WeakSet()


def watched(engine: Any) -> Watched:
    """The stored `Watched` of this engine's pool."""
    pool = engine.pool
    found: Watched | None = vars(pool).get(CONNECTION_PLAN)
    if found is None:
        found = Watched(pool, _owner(engine))
        setattr(pool, CONNECTION_PLAN, found)
        _registry.add(found)
    return found


def _owner(engine: Any) -> Any:
    """The engine that owns the pool of this one, which `execution_options` may have made for only one checkout."""
    while "_proxied" in vars(engine):
        engine = engine._proxied
    return engine


def metrics_of() -> pools.PoolMetrics | None:
    """The metrics of the pools, which are made on first use; None: there are none."""
    return pools.metrics_of(DATABASE, "sqlalchemy", _registry)


def observe_usage(providers: Mapping[str, Any]) -> None:
    """Create the metric of the stock instrumentation, if ours replaces it."""
    active = DATABASE.active
    convention = active.convention
    if not isinstance(convention, StockConventions):
        return
    of = weakref.ref(active)

    def observe(_options: Any) -> Iterator[Observation]:
        if of() is not DATABASE.active:
            return
        sums: dict[tuple[str, str], int] = {}
        for pool in tuple(_registry):
            if pool.is_open and pool.engine is not None:
                for state, number in pool.count().items():
                    key = (convention.pool_name(pool.engine), state)
                    sums[key] = sums.get(key, 0) + number
        for (name, state), number in sums.items():
            yield Observation(number, {"pool.name": name, "state": state})

    convention.meter(providers.get("meter_provider")).create_observable_up_down_counter(
        _USAGE,
        [observe],
        unit="connections",
        description="The number of connections that are currently in state described by the state attribute.",
    )
