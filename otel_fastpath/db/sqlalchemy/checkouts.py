"""A connection's checkout from a pool, and its return: the path that each of them takes. Compiled as `checkouts_c`."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.db import pools as all_pools
from otel_fastpath.db.sqlalchemy import pools
from otel_fastpath.db.sqlalchemy.engines import CONNECTION_PLAN, DATABASE
from otel_fastpath.db.sqlalchemy.pools import PLACE
from otel_fastpath.patching import faults
from otel_fastpath.wrapping.call import new


def begin(engine: Any, begun: Any) -> None:
    """Add to the list when waiting for a connection began, and its call if that option is set."""
    try:
        active = DATABASE.active
        if active is None:
            return
        pool = get_item(engine.pool.__dict__, CONNECTION_PLAN)
        if pool is None:
            pool = pools.watched(engine)
        begun.append(perf_counter())
        if active.options.acquire:
            call = new()
            begun.append(call)
            all_pools.begin_acquire(call, active, pool, engine.dialect.name)
    except Exception as fault:
        faults.absorb_any(PLACE, fault)


def end_wait(engine: Any, fairy: Any, begun: Any) -> None:
    """End the wait that `begin` has begun, and keep since when the connection is borrowed."""
    try:
        active = DATABASE.active
        if active is None or not begun:
            return
        # The call is behind it, if that option is set.
        started, call = begun[0], begun[-1]
        if call is not started:
            call.end()
        metrics = _metrics(active)
        if metrics is None and hasattr(engine.pool, "checkedin"):
            # The pool counts its connections itself, and how long they are borrowed is not asked for.
            return
        record = getattr(fairy, "_connection_record", None)
        if record is None:
            return
        pool = pools.watched(engine)
        if metrics is not None:
            pool.record_acquire(metrics, record, started)
        else:
            pool.borrowed[record] = started
    except Exception as fault:
        faults.absorb_any(PLACE, fault)


def record_release(record: Any) -> None:
    """Record how long the connection of this record was borrowed; it is returned, or lost."""
    try:
        active = DATABASE.active
        if active is None:
            return
        pool = get_item(record._ConnectionRecord__pool.__dict__, CONNECTION_PLAN)
        if pool is None:
            return
        metrics = _metrics(active)
        if metrics is not None:
            pool.record_release(metrics, record)
        elif pool.borrowed:
            pool.borrowed.pop(record, None)
    except Exception as fault:
        faults.absorb_any(PLACE, fault)


def _metrics(active: Any) -> Any:
    """What `metrics_of` returns, without its call where they exist or are off."""
    found = active.pools
    return pools.metrics_of() if found is None and active.options.metrics else found
