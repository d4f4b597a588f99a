"""Wrappers of what SQLAlchemy's pools do: a connection is acquired, returned, made.

A listener for an engine's events would cost more than all that is done here.
"""

from __future__ import annotations

import functools
from time import perf_counter, time_ns
from typing import Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db import pools as all_pools
from otel_fastpath.db.sqlalchemy import hooks, pools
from otel_fastpath.db.sqlalchemy.engines import CONNECTION_PLAN, DATABASE
from otel_fastpath.db.sqlalchemy.pools import PLACE
from otel_fastpath.db.sqlalchemy.stock_telemetry import CONNECT, StockConventions
from otel_fastpath.patching.outcome import call_guarded, never_raises
from otel_fastpath.wrapping import call as skeleton

_TIMEOUT: Final = "sqlalchemy.exc.TimeoutError"


def make_acquire(original: Any) -> Any:
    """Wrap `Engine.raw_connection`, which every way to get a connection of an engine calls."""
    begin = hot.db_sqlalchemy_checkouts.begin
    end_wait = hot.db_sqlalchemy_checkouts.end_wait

    @functools.wraps(original)
    def raw_connection(*args: Any, **kwargs: Any) -> Any:
        begun: list[Any] = []
        try:
            begin(args[0], begun)
            fairy = original(*args, **kwargs)
            end_wait(args[0], fairy, begun)
        except BaseException as error:
            try:
                _not_acquired(args[0], error, begun)
            except BaseException:
                # Interrupted, may be at its beginning.
                _not_acquired(args[0], error, begun)
                raise
            raise
        return fairy

    return raw_connection


@never_raises(PLACE)
def _not_acquired(engine: Any, error: BaseException, begun: list[Any]) -> None:
    """End the span of waiting. If the pool has no connection, there is a span in any case: nothing else tells it."""
    if not begun:
        return
    started, call, *_ = [*begun, None]
    is_timeout = f"{type(error).__module__}.{type(error).__qualname__}" == _TIMEOUT
    try:
        if is_timeout and call is None:
            call = skeleton.new()
            begun.append(call)
            _begin_late(call, engine, time_ns() - int((perf_counter() - started) * 1e9))
    finally:
        if call is not None:
            hooks.fail(call, error)
    metrics = pools.metrics_of()
    if metrics is not None and is_timeout:
        # It is counted once, even if that is interrupted.
        begun.clear()
        pools.watched(engine).record_timeout(metrics)


def _begin_late(call: Any, engine: Any, start_ns: int) -> None:
    """Begin the span of a wait that is over."""
    active = DATABASE.active
    if not isinstance(active.convention, StockConventions):
        all_pools.begin_acquire(call, active, pools.watched(engine), engine.dialect.name, start_ns)
        return
    connection_plan = (
        DATABASE.new_connection_plan(engine) if active.replacements.exist() else DATABASE.connection_plan(engine)
    )
    plan = connection_plan.plans.special(CONNECT, {})
    skeleton.begin(call, active.telemetry, plan.name, plan.attributes, None, start_ns)


def make_release(original: Any) -> Any:
    """Wrap `_ConnectionRecord.checkin`, which is called when a connection is returned or lost."""
    record_release = hot.db_sqlalchemy_checkouts.record_release

    @functools.wraps(original)
    def checkin(*args: Any, **kwargs: Any) -> Any:
        record_release(args[0])
        return original(*args, **kwargs)

    return checkin


def make_connect(original: Any) -> Any:
    """Wrap the method that makes a pool's connection, and all that the dialect then asks the server."""
    open_outer = hot.db_outer.open_outer
    is_suppressed = hot.wrapping_call_span.is_suppressed

    def begin(call: Any, record: Any) -> Any:
        """Begin the call, unless there is none; return what is stored of the pool."""
        active = DATABASE.active
        pool: pools.Watched | None = vars(record._ConnectionRecord__pool).get(CONNECTION_PLAN)
        engine = None if pool is None else pool.engine
        if active is None or engine is None or is_suppressed():
            return None
        if active.options.drivers and hooks.is_recorded_by_driver(engine):
            return pool
        connection_plan = (
            DATABASE.new_connection_plan(engine) if active.replacements.exist() else DATABASE.connection_plan(engine)
        )
        attributes = {} if isinstance(active.convention, StockConventions) else {"db.operation.name": CONNECT}
        open_outer(call, connection_plan, connection_plan.plans.special(CONNECT, attributes), None)
        return pool

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        call = DATABASE.new_query()
        try:
            pool = call_guarded(PLACE, begin, call, args[0])
            result = original(*args, **kwargs)
            call.end()
            if pool is not None:
                _after_connect(pool, started)
        except BaseException as error:
            try:
                hooks.fail(call, error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.fail(error)
            raise
        return result

    return connect


@never_raises(PLACE)
def _after_connect(pool: pools.Watched, started: float) -> None:
    metrics = pools.metrics_of()
    if metrics is not None:
        pool.record_connect(metrics, started)
