"""The metrics of pools: their sizes are read at each collection, durations are measured when they occur."""

from __future__ import annotations

import functools
import operator
import weakref
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.metrics import Observation

from otel_fastpath.db.steps import around_steps
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching.outcome import never_raises
from otel_fastpath.wrapping import call as calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

    from otel_fastpath.db.database import Database
    from otel_fastpath.db.query_plans import Active
    from otel_fastpath.wrapping.call_span import Call

NAME_KEY: Final = "db.client.connection.pool.name"
STATE_KEY: Final = "db.client.connection.state"
_SPAN: Final = "pool.acquire"
# Not defined by the conventions: the bounds of durations, plus an hour for connections that are used for long.
_BOUNDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3600)


_PREFIX: Final = "db.client.connection."
_TIMES: Final = {
    "wait_time": "The time it took to obtain an open connection from the pool.",
    "use_time": "The time between borrowing a connection and returning it to the pool.",
    "create_time": "The time it took to create a new connection.",
}
_STATES: Final = "The number of connections that are currently in state described by the state attribute."
# Name -> the unit, the description, and the method of a `WatchedPool` that reads it.
_GAUGES: Final = {
    "count": ("{connection}", _STATES, "count"),
    "idle.max": ("{connection}", "The maximum number of idle open connections allowed.", "most_idle"),
    "idle.min": ("{connection}", "The minimum number of idle open connections allowed.", "least_idle"),
    "max": ("{connection}", "The maximum number of open connections allowed.", "most"),
    "pending_requests": ("{request}", "The number of current pending requests for an open connection.", "pending"),
}


class WatchedPool:
    """What is stored for one pool; each library has a subclass that reads its pools.

    The methods that read return a mapping of states to numbers; the state is "" if the metric has none. An empty
    mapping means that the library does not have this metric.

    Attributes:
        borrowed: Borrowed connection -> when it was borrowed.
        name: The name of the pool, see `Server.name`; empty until it is known.
    """

    __slots__ = ("__weakref__", "_handles", "_of", "borrowed", "name")

    def __init__(self) -> None:
        self.borrowed: MutableMapping[Any, float] = {}
        self.name = ""
        self._of: Any = None
        self._handles: dict[str, Any] = {}

    @property
    def is_open(self) -> bool:
        """Whether the pool still exists and is not closed."""
        raise NotImplementedError

    def server_name(self) -> str:
        """The name of the pool, see `Server.name`; empty until its server is known."""
        raise NotImplementedError

    def count(self) -> Mapping[str, int]:
        """The number of connections in the states "idle" and "used"."""
        return {}

    def most_idle(self) -> Mapping[str, int]:
        """The maximum number of idle connections."""
        return {}

    def least_idle(self) -> Mapping[str, int]:
        """The minimum number of idle connections."""
        return {}

    def most(self) -> Mapping[str, int]:
        """The maximum number of connections."""
        return {}

    def pending(self) -> Mapping[str, int]:
        """The number of requests that wait for a connection."""
        return {}

    def named(self, otherwise: str) -> str:
        """The pool's name, or the other one given (the system's name) until it has connected to a server."""
        if not self.name:
            self.name = self.server_name()
        return self.name or otherwise

    def handle(self, metrics: PoolMetrics, kind: str) -> Any:
        """The bound instrument of this kind: "wait_time", "use_time", "create_time", "timeouts"."""
        name = self.name or self.named(metrics.system)
        if self._of != (metrics, name):
            self._of = (metrics, name)
            self._handles = {
                each: bind(instrument, metrics.labels.bounded({NAME_KEY: name}))
                for each, instrument in metrics.instruments.items()
            }
        return self._handles[kind]

    def record_acquire(self, metrics: PoolMetrics, borrowed: Any, started: float) -> None:
        """Record that a connection was obtained, after a wait that started at this time."""
        now = perf_counter()
        self.borrowed[borrowed] = now
        self.handle(metrics, "wait_time").record(now - started)

    def record_release(self, metrics: PoolMetrics, borrowed: Any) -> None:
        """Record that a connection was returned or lost."""
        since = self.borrowed.pop(borrowed, None)
        if since is not None:
            self.handle(metrics, "use_time").record(perf_counter() - since)

    def record_connect(self, metrics: PoolMetrics, started: float) -> None:
        """Record that a connection was created."""
        self.handle(metrics, "create_time").record(perf_counter() - started)

    def record_timeout(self, metrics: PoolMetrics) -> None:
        """Record that waiting for a connection timed out."""
        self.handle(metrics, "timeouts").add(1)


class PoolMetrics:
    """The instruments.

    Args:
        active: The set-up that they are for; they report nothing once there is another.
        current: Returns the library's current set-up.
        system: The name of a pool whose server is not known yet.
        pools: The existing pools.
    """

    def __init__(
        self, active: Active, current: Callable[[], Active | None], system: str, pools: Iterable[WatchedPool]
    ) -> None:
        self._active = weakref.ref(active)
        self._current = current
        self._pools = pools
        self.system = system
        self.labels = active.labels
        meter = active.meter
        self.instruments: dict[str, Any] = {
            name: meter.create_histogram(
                f"{_PREFIX}{name}", unit="s", description=description, explicit_bucket_boundaries_advisory=_BOUNDS
            )
            for name, description in _TIMES.items()
        }
        self.instruments["timeouts"] = meter.create_counter(
            f"{_PREFIX}timeouts",
            unit="{timeout}",
            description="The number of connection timeouts that have occurred trying to obtain a connection.",
        )
        for name, (unit, description, read) in _GAUGES.items():
            callbacks = [functools.partial(self._observe, operator.methodcaller(read))]
            meter.create_observable_up_down_counter(f"{_PREFIX}{name}", callbacks, unit=unit, description=description)

    def _observe(self, read: Callable[[WatchedPool], Mapping[str, int]], _options: Any) -> Iterator[Observation]:
        if self._active() is not self._current():
            return
        # In the metrics, pools with the same name are one pool.
        sums: dict[tuple[tuple[str, str], ...], int] = {}
        for each in tuple(self._pools):
            if each.is_open:
                for state, number in read(each).items():
                    labels = self.labels.bounded({NAME_KEY: each.named(self.system)})
                    key = (*labels.items(), (STATE_KEY, state)) if state else tuple(labels.items())
                    sums[key] = sums.get(key, 0) + number
        for key, number in sums.items():
            yield Observation(number, dict(key))


def metrics_of(database: Database, system: str, registry: weakref.WeakSet[Any]) -> PoolMetrics | None:
    """The metrics of a library's pools, which are made on first use; None: it is off, or without metrics."""
    active = database.active
    if active is None or not active.options.metrics:
        return None
    if active.pools is None:
        active.pools = _new_metrics(database, active, system, registry)
    made: PoolMetrics = active.pools
    return made


# Not in `metrics_of`, where the function inside would cost an allocation at each call.
def _new_metrics(database: Database, active: Active, system: str, registry: weakref.WeakSet[Any]) -> PoolMetrics:
    return PoolMetrics(active, lambda: database.active, system, registry)


class PoolWrappers:
    """The wrappers of the methods of a library's pools by which connections are borrowed.

    Args:
        database: The library's `Database`.
        place: The place to report an error under.
        watched: Returns the `WatchedPool` that is stored for a pool; None: nothing is known of it yet.
        registry: Those of all pools.
        system: The name of a pool until its server is known.
    """

    def __init__(
        self,
        database: Database,
        place: str,
        watched: Callable[[Any], Any],
        registry: weakref.WeakSet[Any],
        system: str,
    ) -> None:
        self._database = database
        self._place = place
        self._watched = watched
        self._registry = registry
        self._system = system

    def metrics(self) -> PoolMetrics | None:
        """See `metrics_of`."""
        return metrics_of(self._database, self._system, self._registry)

    def around_acquire(
        self, key: Callable[[Any], Any], is_timeout: Callable[[BaseException], bool], original: Any
    ) -> Any:
        """Wrap the method that every way to get a connection calls.

        Args:
            key: Returns what a connection is known by, given the method's result.
            is_timeout: Whether an exception says that there was no connection in time.
            original: The method of the pool.
        """

        @never_raises(self._place)
        def request(begun: list[Any], args: Any, _kwargs: Any) -> None:
            """Add to the list when waiting for a connection began, and its call if that option is set."""
            begun.append(perf_counter())
            active = self._database.active
            if active is not None and active.options.acquire:
                call = calls.new()
                begun.append(call)
                begin_acquire(call, active, self._watched(args[0]), self._system)

        @never_raises(self._place)
        def done(begun: list[Any], args: Any, result: Any) -> None:
            started, call, *_ = [*begun, None, None]
            try:
                metrics = self.metrics()
                if metrics is not None and started is not None:
                    self._watched(args[0]).record_acquire(metrics, key(result), started)
            finally:
                if call is not None:
                    call.end()

        @never_raises(self._place)
        def failed(begun: list[Any], args: Any, error: BaseException) -> None:
            _started, call, *_ = [*begun, None, None]
            try:
                pool, metrics = self._watched(args[0]), self.metrics()
                if metrics is not None and pool is not None and is_timeout(error):
                    pool.record_timeout(metrics)
            finally:
                if call is not None:
                    call.fail(error)

        return around_steps(request, done, failed, original)


def begin_acquire(
    call: Call, active: Active, pool: WatchedPool | None, system: str, start_ns: int | None = None
) -> None:
    """Begin the span of waiting for a connection, unless it is not instrumented.

    Args:
        call: What `wrapping.call.new` made.
        active: The set-up.
        pool: The pool; None: nothing is known of it.
        system: Its name until its server is known.
        start_ns: When waiting began, in nanoseconds since the epoch; None: now.
    """
    telemetry = calls.WrapperTelemetry(active.telemetry.tracer, trace.SpanKind.INTERNAL, active.telemetry.describe)
    attributes = None if pool is None else {NAME_KEY: pool.named(system)}
    calls.begin(call, telemetry, _SPAN, attributes, None, start_ns)
