"""The texts of queries, which psycopg2 takes as `str`, `bytes` and `psycopg2.sql` objects."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.db.queries import comments

# For a value that psycopg2 puts in the text, so that neither spans nor the names of plans have it.
_VALUE: Final = "?"


def render(query: Any, connection: Any, *, with_values: bool) -> str:
    """The text of a query that is not a plain `str`; empty for what is none, whose error psycopg2 reports itself."""
    from psycopg2 import sql  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    if issubclass(type(query), str):
        # A subclass may override methods, and `__class__` may be anything.
        return str.__str__(query)
    if issubclass(type(query), (bytes, bytearray, memoryview)):
        return bytes(query).decode("utf-8", "replace")
    if isinstance(query, sql.Composed) and not with_values:
        return "".join([render(part, connection, with_values=False) for part in query.seq])
    if isinstance(query, sql.Literal) and not with_values:
        return _VALUE
    if isinstance(query, sql.Composable):
        text: str = query.as_string(connection)
        return text
    return ""


def add_comment(query: Any, cursor: Any, has_parameters: bool) -> Any:
    """The query with the current trace context as a comment."""
    from psycopg2 import sql  # noqa: PLC0415  # likewise

    if not isinstance(query, sql.Composable):
        return comments.with_comment(query, is_formatted=has_parameters)
    comment = comments.comment(render(query, cursor.connection, with_values=False), is_formatted=has_parameters)
    return query + sql.SQL(comment) if comment else query
