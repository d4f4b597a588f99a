"""Wrappers of the methods of cursors that execute a query.

psycopg's own methods return once the result is there, except in a pipeline: there, `pipelines` ends the call.
"""

from __future__ import annotations

import functools
from typing import Any

from otel_fastpath.db import cursors
from otel_fastpath.db.dbapi.stock_telemetry import is_by_stock
from otel_fastpath.db.psycopg import pipelines
from otel_fastpath.db.psycopg.query_plans import DATABASE, DRIVER


def around_execute(original: Any) -> Any:
    """Wrap `execute` of a cursor."""
    apply = functools.partial(cursors.apply_options, DRIVER)
    entrance = cursors.entrance_of(DRIVER)
    return cursors.around(DRIVER, entrance, original, apply=apply, count=_count, during=pipelines.ending)


def around_executemany(original: Any) -> Any:
    """Wrap `executemany` of a cursor."""
    return cursors.around_executemany(DRIVER, original, count=_count_batch, during=pipelines.ending)


def _count(call: Any, args: Any, _result: Any) -> None:
    """Record the rows of the cursor's results; those of the stock instrumentation include rows that were changed."""
    number = args[0].rowcount if call.connection_plan.active.is_same else pipelines.rows_of(args[0]._results)
    if number is not None and number >= 0:
        call.record_rows(number)


def _count_batch(call: Any, args: Any, result: Any) -> None:
    if args[0]._results or call.connection_plan.active.is_same:
        _count(call, args, result)


def make_untraced(original: Any) -> Any:
    """Wrap the stock instrumentation's own wrapper of a cursor's methods, which calls ours."""

    @functools.wraps(original)
    def traced_execution(*args: Any, **kwargs: Any) -> Any:
        if DATABASE.active is None or is_by_stock(args):
            return original(*args, **kwargs)
        _, _, method, *rest = args
        return method(*rest, **kwargs)

    return traced_execution


def make_untraced_async(original: Any) -> Any:
    """Likewise, for cursors of asynchronous connections."""

    @functools.wraps(original)
    async def traced_execution_async(*args: Any, **kwargs: Any) -> Any:
        if DATABASE.active is None or is_by_stock(args):
            return await original(*args, **kwargs)
        _, _, method, *rest = args
        return await method(*rest, **kwargs)

    return traced_execution_async
