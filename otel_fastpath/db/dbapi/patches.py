"""The patches of `opentelemetry.instrumentation.dbapi`: for cursors that have wrappers of ours, and for all others."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db.cursors import DATABASE_OF
from otel_fastpath.db.dbapi.template import KNOWN, STOCK, TRACER
from otel_fastpath.db.queries import comments
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config


def _make_query(original: Any, _settings: Config) -> Any:
    execution = hot.db_dbapi_execution
    find, run = execution.find, execution.run

    @functools.wraps(original)
    def traced_execution(self: Any, cursor: Any, query_method: Any, *args: Any, **kwargs: Any) -> Any:
        found = find(self, cursor, args)
        if found is None:
            return original(self, cursor, query_method, *args, **kwargs)
        return run(self, found, cursor, query_method, args, kwargs)

    return traced_execution


def _make_execution(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def traced_execution(self: Any, cursor: Any, query_method: Any, *args: Any, **kwargs: Any) -> Any:
        database = getattr(query_method, DATABASE_OF, None)
        if database is None or database.active is None:
            return original(self, cursor, query_method, *args, **kwargs)
        return query_method(*args, **kwargs)

    return traced_execution


def _make_comment(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def added(self: Any, args: Any, cursor: Any) -> Any:
        if not args or not isinstance(args[0], comments.BYTES):
            return original(self, args, cursor)
        return comments.change_text(lambda text: original(self, (text,), cursor)[0], args[0]), *args[1:]

    return added


# What is called once for a text, or not at all.
_KEPT: Final = ("traced_execution", "get_operation_name", "get_statement", "_populate_span")
# In this order: the second one's replacement calls the first one's.
PATCHES: Final = (
    Patch(
        name="dbapi.query",
        target=f"{TRACER}.traced_execution",
        why="The attributes of a query of any other driver are made anew; here they are made once for each text.",
        make=_make_query,
        requires=("opentelemetry-instrumentation-dbapi>=0.61b0",),
        sources=KNOWN.sources(*(f"{TRACER}.{name}" for name in _KEPT))
        | KNOWN.sources_if_any(f"{TRACER}._record_metrics", f"{TRACER}._get_metric_attributes"),
        stock=STOCK,
        budgets=("dbapi, execute of another driver",),
    ),
    Patch(
        name="dbapi.execution",
        target=f"{TRACER}.traced_execution",
        why="A proxy that a stock instrumentation made before it was replaced: one span for each query.",
        make=_make_execution,
        requires=("opentelemetry-instrumentation-dbapi>=0.45b0",),
        budgets=("pymysql, execute",),
    ),
    Patch(
        name="dbapi.comment",
        target=f"{TRACER}._update_args_with_added_sql_comment",
        why="A query in bytes gets its comment as bytes: stock sends the `repr` of the bytes, a syntax error.",
        make=_make_comment,
        requires=("opentelemetry-instrumentation-dbapi>=0.61b0",),
        budgets=("dbapi, execute with a comment",),
    ),
)
