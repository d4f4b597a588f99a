"""The trace context as a comment at the end of a query (SQL commenter)."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

# Not the configured propagator: baggage may contain anything, and the server logs it.
_PROPAGATOR: Final = TraceContextTextMapPropagator()


def commented(
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


def with_comment(text: Any, *, is_formatted: bool = False) -> Any:
    """The query with the current trace context; a value that is not a plain `str` is returned unchanged.

    Args:
        text: The query.
        is_formatted: See `comment`.
    """
    return text + comment(text, is_formatted=is_formatted) if type(text) is str else text


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
