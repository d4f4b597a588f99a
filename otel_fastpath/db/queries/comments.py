"""The trace context as a comment at the end of a query (SQL commenter).

A driver may take a query as `str`, a subclass of it, or bytes; with its comment, it is of the same kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES: Final = (bytes, bytearray, memoryview)
# It has a character for each byte, and a comment is ASCII.
_ENCODING: Final = "latin-1"
# Not the configured propagator: baggage may contain anything, and the server logs it.
_PROPAGATOR: Final = TraceContextTextMapPropagator()


def add_comment(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a method with the current trace context in its query.

    Args:
        args: The method's arguments: `self`, then the query.
        kwargs: The method's keyword arguments.
        names: The possible names of the query's parameter in `kwargs`.
    """
    if len(args) > 1:
        return (args[0], with_comment(args[1]), *args[2:]), kwargs
    for name in names:
        if name in kwargs:
            return args, {**kwargs, name: with_comment(kwargs[name])}
    return args, kwargs


def with_comment(query: Any, *, is_formatted: bool = False) -> Any:
    """The query with the current trace context, if it is a plain `str` or bytes and not empty; else unchanged."""
    if type(query) is not str and issubclass(type(query), str):
        return query
    return change_text(lambda text: text and text + comment(text, is_formatted=is_formatted), query)


def change_text(add: Callable[[str], str], query: Any) -> Any:
    """The query with what a function adds to its text; what is neither text nor bytes is returned unchanged."""
    if issubclass(type(query), str):
        # A subclass may override methods: that of an enumeration has the member's name.
        return add(str.__str__(query))
    if issubclass(type(query), BYTES):
        return add(bytes(query).decode(_ENCODING)).encode(_ENCODING, "replace")
    return query


def comment(text: str, *, is_formatted: bool) -> str:
    """What is appended to a query for the current trace context; empty if there is none.

    Args:
        text: The query.
        is_formatted: Whether the driver reads placeholders with `%` in it, so that this character is written twice.
    """
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    if not carrier:
        return ""
    # A newline ends a line comment, if the last line has one.
    between = "\n" if "--" in text.rpartition("\n")[2] else " "
    # URL encoding escapes quotes and the end of the comment.
    pairs = ",".join(f"{quote(key, safe='')}='{quote(value, safe='')}'" for key, value in sorted(carrier.items()))
    made = f"{between}/*{pairs}*/"
    return made.replace("%", "%%") if is_formatted else made
