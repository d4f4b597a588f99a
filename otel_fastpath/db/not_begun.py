"""Calls of a database library that were not begun: they run without telemetry of ours, or in stock's code."""

from __future__ import annotations

import functools
import inspect
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from otel_fastpath.db.database import Database


def otherwise(database: Database, call: Any, args: Any, original: Any) -> Any:
    """What runs a call that was not begun: the method, or stock's code around it if a function of that is replaced."""
    active = database.active
    if active is not None and active.replacements.exist():
        instead = call_guarded(database.place, _by_stock, database, call, args, original)
        if instead is not None:
            return instead
    return _resumed(original) if isinstance(original, CoroutineType) else original


def _resumed(coroutine: Any) -> Any:
    """A function that returns this coroutine."""
    return lambda *_args, **_kwargs: coroutine


def _by_stock(database: Database, call: Any, args: Any, original: Any) -> Any:
    is_begun = isinstance(original, CoroutineType)
    method = _resumed(original) if is_begun else original
    held, connection_plan = args[0], database.connection_plan(database.connection_of(args[0]))
    run = _run_unrecorded_async if is_begun or inspect.iscoroutinefunction(original) else _run_unrecorded
    if connection_plan.call is None and not (
        connection_plan.is_driver and connection_plan.active.hot.outer_call() is not None
    ):
        inner = functools.partial(run, database, call, args, method)
        made = connection_plan.plans.convention.around(original.__name__, held, inner)
        if made is not None:
            return lambda _self, *rest, **kwargs: made(*rest, **kwargs)
    return method


def _run_unrecorded(database: Database, call: Any, args: Any, method: Any, *rest: Any, **kwargs: Any) -> Any:
    """Call the method: what it executes on this connection is part of it."""
    call_guarded(database.place, database.enter_unrecorded, call, args)
    try:
        result = method(args[0], *rest, **kwargs)
        call.done(result)
    except BaseException as error:
        call.end_failed(error)
        raise
    return result


async def _run_unrecorded_async(
    database: Database, call: Any, args: Any, method: Any, *rest: Any, **kwargs: Any
) -> Any:
    """Likewise, for a method that returns an awaitable."""
    call_guarded(database.place, database.enter_unrecorded, call, args)
    try:
        result = await method(args[0], *rest, **kwargs)
        call.done(result)
    except BaseException as error:
        call.end_failed(error)
        raise
    return result
