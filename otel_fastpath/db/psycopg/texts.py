"""The texts of queries, which psycopg takes as `str`, `bytes`, `psycopg.sql` objects and template strings."""

from __future__ import annotations

import inspect
from typing import Any, Final

from otel_fastpath.db.queries import comments

# For a value that psycopg puts in the text, so that neither spans nor the names of plans have it.
_VALUE: Final = "?"
_PARAMETER: Final = "%s"
# For what is no query: psycopg reports the error itself. Not empty, which is the text of a pool's check.
_UNKNOWN: Final = " "


def render(query: Any, connection: Any, *, with_values: bool) -> str:
    """The text of a query that is not a plain `str`."""
    from psycopg import sql  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    if issubclass(type(query), str):
        # A subclass may override methods, and `__class__` may be anything.
        return str.__str__(query)
    if issubclass(type(query), (bytes, bytearray)):
        return bytes(query).decode("utf-8", "replace")
    if isinstance(query, sql.Composable):
        return query.as_string(connection) if with_values else _without_values(query, connection)
    # Without the application's own `__getattr__`.
    if inspect.getattr_static(query, "interpolations", None) is not None:
        return _of_template(query, connection, with_values=with_values)
    return _UNKNOWN


def _without_values(query: Any, connection: Any) -> str:
    from psycopg import sql  # noqa: PLC0415  # likewise

    if isinstance(query, sql.Composed):
        return "".join([_without_values(part, connection) for part in query])
    if isinstance(query, sql.Literal):
        return _VALUE
    if isinstance(query, sql.SQL):
        return str(query._obj)
    text: str = query.as_string(connection)
    return text


def _of_template(query: Any, connection: Any, *, with_values: bool) -> str:
    """The text of a template string. Those with values are the stock instrumentation's, with the expressions."""
    parts = [query.strings[0]]
    for interpolation, text in zip(query.interpolations, query.strings[1:], strict=True):
        part = f"{{{interpolation.expression}}}" if with_values else _of_interpolation(interpolation, connection)
        parts += [part, text]
    return "".join(parts)


def _of_interpolation(interpolation: Any, connection: Any) -> str:
    from psycopg import sql  # noqa: PLC0415  # likewise

    value = interpolation.value
    if isinstance(value, sql.Composable) or hasattr(value, "interpolations"):
        return render(value, connection, with_values=False)
    if interpolation.format_spec == "i":
        return '"{}"'.format(str(value).replace('"', '""'))
    return _VALUE if interpolation.format_spec == "l" else _PARAMETER


def add_comment(query: Any, cursor: Any, has_parameters: bool) -> Any:
    """The query with the current trace context as a comment; a template string is returned unchanged."""
    from psycopg import sql  # noqa: PLC0415  # likewise

    is_formatted = has_parameters and "Raw" not in cursor._query_cls.__name__
    if not isinstance(query, sql.Composable):
        return comments.with_comment(query, is_formatted=is_formatted)
    comment = comments.comment(render(query, cursor._conn, with_values=False), is_formatted=is_formatted)
    return query + sql.SQL(comment) if comment else query
