"""Pools: what they hold is read when somebody collects, and what takes time is measured where it happens.

A pool has no place for anything of ours and cannot be referred to weakly; its queue has one, and lives as long.
"""

from __future__ import annotations

import functools
import weakref
from asyncio import TimeoutError as AsyncioTimeoutError
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.metrics import Observation

from otel_fastpath.libraries import call as calls
from otel_fastpath.libraries.db.asyncpg import plans
from otel_fastpath.libraries.db.conventions import Server, failure
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching.outcome import never_raises

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.libraries.db.asyncpg.plans import Active

_PLACE: Final = "an asyncpg pool"
_SPAN: Final = "pool.acquire"
_NAME_KEY: Final = "db.client.connection.pool.name"
_STATE_KEY: Final = "db.client.connection.state"
# What is not stated by the conventions: those of the durations, and an hour for what is used long.
_BOUNDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3600)


class Watched:
    """What is kept of one pool.

    Args:
        pool: The pool. It is kept alive by this no longer than by its queue, which this is an attribute of.
    """

    __slots__ = ("__weakref__", "_handles", "_holders", "_of", "borrowed", "name")

    def __init__(self, pool: Any) -> None:
        self._holders = pool._holders
        # Holder -> when its connection was borrowed.
        self.borrowed: dict[Any, float] = {}
        self.name = ""
        self._of: Any = None
        self._handles: dict[str, Any] = {}

    def named(self, pool: Any) -> str:
        """The pool's name; until it has connected somewhere nobody knows where that will be."""
        if not self.name:
            for holder in pool._holders:
                connection = holder._con
                if connection is not None and getattr(connection, "_params", None) is not None:
                    self.name = Server(connection._addr, connection._params).name
                    break
        return self.name or "postgresql"

    def handle(self, metrics: PoolMetrics, pool: Any, kind: str) -> Any:
        """The bound instrument of this kind: "wait_time", "use_time", "create_time", "timeouts"."""
        name = self.named(pool)
        if self._of != (metrics, name):
            self._of = (metrics, name)
            self._handles = {
                each: bind(instrument, {_NAME_KEY: name}) for each, instrument in metrics.instruments.items()
            }
        return self._handles[kind]

    def pool(self) -> Any:
        """The pool, where it is open."""
        pool = self._holders[0]._pool if self._holders else None
        return None if pool is None or pool._closed else pool


_registry: weakref.WeakSet[Watched] = weakref.WeakSet()


def watched(pool: Any) -> Watched:
    """What is kept of this pool."""
    queue = pool._queue
    try:
        found: Watched = queue._otel_fastpath
    except AttributeError:
        found = queue._otel_fastpath = Watched(pool)
        _registry.add(found)
    return found


class PoolMetrics:
    """The instruments.

    Args:
        active: The set-up that they are for; they tell nothing more once there is another.
    """

    def __init__(self, active: Active) -> None:
        self._active = weakref.ref(active)
        meter = active.meter
        bounds: dict[str, Any] = {"unit": "s", "explicit_bucket_boundaries_advisory": _BOUNDS}
        self.instruments: dict[str, Any] = {
            "wait_time": meter.create_histogram(
                "db.client.connection.wait_time",
                description="The time it took to obtain an open connection from the pool.",
                **bounds,
            ),
            "use_time": meter.create_histogram(
                "db.client.connection.use_time",
                description="The time between borrowing a connection and returning it to the pool.",
                **bounds,
            ),
            "create_time": meter.create_histogram(
                "db.client.connection.create_time",
                description="The time it took to create a new connection.",
                **bounds,
            ),
            "timeouts": meter.create_counter(
                "db.client.connection.timeouts",
                unit="{timeout}",
                description="The number of connection timeouts that have occurred trying to obtain a connection.",
            ),
        }
        for name, unit, description, read in _GAUGES:
            meter.create_observable_up_down_counter(
                f"db.client.connection.{name}",
                [functools.partial(self._observe, read)],
                unit=unit,
                description=description,
            )

    def _observe(self, read: Callable[[Any], dict[str, int]], _options: Any) -> Iterator[Observation]:
        if self._active() is not plans.active:
            return
        # Pools of one name are one pool to whoever reads the metrics.
        sums: dict[tuple[str, str], int] = {}
        for each in tuple(_registry):
            pool = each.pool()
            if pool is not None:
                for state, number in read(pool).items():
                    key = (each.named(pool), state)
                    sums[key] = sums.get(key, 0) + number
        for (name, state), number in sums.items():
            yield Observation(number, {_NAME_KEY: name, _STATE_KEY: state} if state else {_NAME_KEY: name})


def _count(pool: Any) -> dict[str, int]:
    states = {"idle": 0, "used": 0}
    for holder in tuple(pool._holders):
        if holder._con is not None and not holder._con.is_closed():
            states["used" if holder._in_use else "idle"] += 1
    return states


def _pending(pool: Any) -> dict[str, int]:
    return {"": sum(not waiter.done() for waiter in tuple(pool._queue._getters))}


_GAUGES: Final = (
    (
        "count",
        "{connection}",
        "The number of connections that are currently in state described by the state attribute.",
        _count,
    ),
    (
        "idle.max",
        "{connection}",
        "The maximum number of idle open connections allowed.",
        lambda pool: {"": pool._maxsize},
    ),
    (
        "idle.min",
        "{connection}",
        "The minimum number of idle open connections allowed.",
        lambda pool: {"": pool._minsize},
    ),
    ("max", "{connection}", "The maximum number of open connections allowed.", lambda pool: {"": pool._maxsize}),
    (
        "pending_requests",
        "{request}",
        "The number of current pending requests for an open connection.",
        _pending,
    ),
)


def make_acquire(original: Any) -> Any:
    """Around `Pool._acquire`, which every way to get a connection comes through."""

    @functools.wraps(original)
    async def acquire(*args: Any, **kwargs: Any) -> Any:
        started, call = _now(), _begin(args[0])
        try:
            proxy = await original(*args, **kwargs)
        except BaseException as error:
            _not_acquired(args[0], error)
            if call is not None:
                call.fail(error)
            raise
        _acquired(args[0], proxy, started)
        if call is not None:
            call.end()
        return proxy

    return acquire


@never_raises(_PLACE)
def _now() -> float:
    return perf_counter()


@never_raises(_PLACE)
def _begin(pool: Any) -> Any:
    active = plans.active
    if active is None or not active.options.acquire:
        return None
    telemetry = calls.Telemetry(active.telemetry.tracer, trace.SpanKind.INTERNAL, failure)
    attributes = {_NAME_KEY: watched(pool).named(pool)} if pool._queue is not None else None
    return calls.begin(telemetry, _SPAN, attributes)


def _metrics() -> PoolMetrics | None:
    active = plans.active
    if active is None or not active.options.metrics:
        return None
    if active.pools is None:
        active.pools = PoolMetrics(active)
    made: PoolMetrics = active.pools
    return made


@never_raises(_PLACE)
def _acquired(pool: Any, proxy: Any, started: float | None) -> None:
    metrics = _metrics()
    if metrics is not None and started is not None:
        now = perf_counter()
        of_pool = watched(pool)
        of_pool.borrowed[proxy._holder] = now
        of_pool.handle(metrics, pool, "wait_time").record(now - started)


@never_raises(_PLACE)
def _not_acquired(pool: Any, raised: BaseException) -> None:
    metrics = _metrics()
    if metrics is not None and isinstance(raised, (TimeoutError, AsyncioTimeoutError)) and pool._queue is not None:
        watched(pool).handle(metrics, pool, "timeouts").add(1)


def make_release(original: Any) -> Any:
    """Around `PoolConnectionHolder._release`, which is called when a connection returns or is lost."""

    @functools.wraps(original)
    def release(*args: Any, **kwargs: Any) -> Any:
        _released(args[0])
        return original(*args, **kwargs)

    return release


@never_raises(_PLACE)
def _released(holder: Any) -> None:
    metrics = _metrics()
    if metrics is not None:
        of_pool = watched(holder._pool)
        borrowed = of_pool.borrowed.pop(holder, None)
        if borrowed is not None:
            of_pool.handle(metrics, holder._pool, "use_time").record(perf_counter() - borrowed)


def make_initialise(original: Any) -> Any:
    """Around `Pool._initialize`, so that a pool is known from its beginning."""

    @functools.wraps(original)
    async def initialize(*args: Any, **kwargs: Any) -> Any:
        result = await original(*args, **kwargs)
        _initialised(args[0])
        return result

    return initialize


@never_raises(_PLACE)
def _initialised(pool: Any) -> None:
    watched(pool)
    _metrics()


def make_new_connection(original: Any) -> Any:
    """Around `Pool._get_new_connection`, which connects and calls the pool's `init`."""

    @functools.wraps(original)
    async def get_new_connection(*args: Any, **kwargs: Any) -> Any:
        started = _now()
        connection = await original(*args, **kwargs)
        _connected(args[0], connection, started)
        return connection

    return get_new_connection


@never_raises(_PLACE)
def _connected(pool: Any, connection: Any, started: float | None) -> None:
    metrics = _metrics()
    if metrics is not None and started is not None and pool._queue is not None:
        of_pool = watched(pool)
        of_pool.name = of_pool.name or Server(connection._addr, connection._params).name
        of_pool.handle(metrics, pool, "create_time").record(perf_counter() - started)
