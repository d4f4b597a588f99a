"""COPY, in its four directions: one span, with the rows that the server counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.asyncpg import query_plans
from otel_fastpath.db.asyncpg.query_plans import DATABASE

if TYPE_CHECKING:
    from otel_fastpath.db.call_wrappers import Opening

ROWS: Final = "asyncpg.copy.rows"


def of_table(args: Any, kwargs: Any) -> Opening:
    """Open a COPY from or to a table."""
    connection_plan = DATABASE.connection_plan(args[0])
    table = _quoted(args[1] if len(args) > 1 else kwargs.get("table_name"))
    schema = kwargs.get("schema_name")
    if schema:
        table = f"{_quoted(schema)}.{table}"
    plan = connection_plan.plans.special(f"COPY {table}", {"db.operation.name": "COPY", "db.collection.name": table})
    return connection_plan, plan, None, None, None


def of_query(args: Any, kwargs: Any) -> Opening:
    """Open a COPY from a query."""
    connection_plan = DATABASE.connection_plan(args[0])
    return (
        connection_plan,
        connection_plan.plans.plan(args[1] if len(args) > 1 else kwargs.get("query"), query_plans.COPY),
        None,
        None,
        None,
    )


def record_copy_out(call: Any, result: Any) -> int | None:
    """The rows that the server sent, as its "COPY 3" says."""
    return _record_rows(call, result)


def record_copy_in(call: Any, result: Any) -> int | None:
    """Record the rows that the server received; None, as it returned no rows."""
    _record_rows(call, result)
    return None


def _record_rows(call: Any, result: Any) -> int | None:
    _, _, number = result.rpartition(" ")
    if not number.isdigit():
        return None
    if call.recording:
        call.span.set_attribute(ROWS, int(number))
    return int(number)


def _quoted(name: Any) -> str:
    """A name, quoted as asyncpg quotes it if quotes are necessary, else as it was given."""
    text = str(name)
    if text.isidentifier() and text.isascii() and text == text.lower():
        return text
    return '"{}"'.format(text.replace('"', '""'))
