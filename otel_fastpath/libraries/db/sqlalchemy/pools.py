"""SQLAlchemy's pools: how their metrics, which all databases share, are read, and where their events are recorded.

Our data of a pool is an attribute of it. A listener for an engine's events would cost more than all that is done here.
"""

from __future__ import annotations

import functools
import weakref
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.metrics import Observation

from otel_fastpath import compiled
from otel_fastpath.libraries.call import begin as begin_call
from otel_fastpath.libraries.db import pools
from otel_fastpath.libraries.db.sqlalchemy import hooks
from otel_fastpath.libraries.db.sqlalchemy.engines import DATABASE, LINK, server_of
from otel_fastpath.libraries.db.sqlalchemy.official import CONNECT, Official
from otel_fastpath.patching.outcome import guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_fastpath.libraries.db.plans import Active

PLACE: Final = "a pool of SQLAlchemy"
_HOT: Final = "libraries.db.sqlalchemy.checkouts"
_USAGE: Final = "db.client.connections.usage"
_TIMEOUT: Final = "sqlalchemy.exc.TimeoutError"


class Watched(pools.Watched):
    """What is stored for one pool.

    Args:
        pool: The pool. This object is an attribute of it.
        engine: The engine that it was used by.
    """

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
    found: Watched | None = vars(pool).get(LINK)
    if found is None:
        found = Watched(pool, engine)
        setattr(pool, LINK, found)
        _registry.add(found)
    return found


def metrics_of(active: Active) -> pools.PoolMetrics | None:
    """The metrics of this set-up, which are made on first use; None: it has none."""
    if active.pools is None and active.options.metrics:
        active.pools = pools.PoolMetrics(active, lambda: DATABASE.active, "sqlalchemy", _registry)
    made: pools.PoolMetrics | None = active.pools
    return made


def observe_usage(providers: Mapping[str, Any]) -> None:
    """Create the metric of the official instrumentation, if ours replaces it."""
    active = DATABASE.active
    convention = active.convention
    if not isinstance(convention, Official):
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


def make_acquire(original: Any) -> Any:
    """Wrap `Engine.raw_connection`, which every way to get a connection of an engine calls."""
    checkouts = compiled.hot(_HOT)
    begin, acquired = checkouts.begin, checkouts.acquired

    @functools.wraps(original)
    def raw_connection(*args: Any, **kwargs: Any) -> Any:
        begun = begin(args[0])
        try:
            fairy = original(*args, **kwargs)
        except BaseException as error:
            _not_acquired(args[0], error, begun)
            raise
        acquired(args[0], fairy, begun)
        return fairy

    return raw_connection


@never_raises(PLACE)
def _not_acquired(engine: Any, error: BaseException, begun: tuple[float, Any] | None) -> None:
    """End the span of waiting. If the pool has no connection, there is a span in any case: nothing else tells it."""
    if begun is None:
        return
    started, call = begun
    is_timeout = f"{type(error).__module__}.{type(error).__qualname__}" == _TIMEOUT
    if is_timeout and call is None:
        call = _late(engine, time_ns() - int((perf_counter() - started) * 1e9))
    if call is not None:
        hooks.fail(call, error)
    active = DATABASE.active
    metrics = None if active is None else metrics_of(active)
    if metrics is not None and is_timeout:
        watched(engine).timed_out(metrics)


def _late(engine: Any, start_ns: int) -> Any:
    """Begin the span of a wait that is over."""
    active = DATABASE.active
    if not isinstance(active.convention, Official):
        return pools.begin_acquire(active, watched(engine), engine.dialect.name, start_ns)
    plan = DATABASE.link(engine).plans.special(CONNECT, {})
    return begin_call(active.telemetry, plan.name, plan.attributes, None, start_ns)


def make_release(original: Any) -> Any:
    """Wrap `_ConnectionRecord.checkin`, which is called when a connection is returned or lost."""
    released = compiled.hot(_HOT).released

    @functools.wraps(original)
    def checkin(*args: Any, **kwargs: Any) -> Any:
        released(args[0])
        return original(*args, **kwargs)

    return checkin


def make_connect(original: Any) -> Any:
    """Wrap the method that makes a pool's connection, and all that the dialect then asks the server."""
    open_outer = compiled.hot("libraries.db.outer").open_outer
    is_suppressed = compiled.hot("libraries.call_span").is_suppressed

    def begin(record: Any) -> Any:
        """Return the span, if there is one, and what is stored of the pool."""
        active = DATABASE.active
        pool: Watched | None = vars(record._ConnectionRecord__pool).get(LINK)
        engine = None if pool is None else pool.engine
        if active is None or engine is None or is_suppressed():
            return None
        if active.options.drivers and hooks.is_told_by_driver(engine):
            return None, pool
        link = DATABASE.link(engine)
        attributes = {} if isinstance(active.convention, Official) else {"db.operation.name": CONNECT}
        return open_outer(link, link.plans.special(CONNECT, attributes), None), pool

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        call, pool = guarded(PLACE, begin, args[0]) or (None, None)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            if call is not None:
                hooks.fail(call, error)
            raise
        if call is not None:
            call.end()
        if pool is not None:
            _connected(pool, started)
        return result

    return connect


@never_raises(PLACE)
def _connected(pool: Watched, started: float) -> None:
    active = DATABASE.active
    metrics = None if active is None else metrics_of(active)
    if metrics is not None:
        pool.was_connected(metrics, started)
