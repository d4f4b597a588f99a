"""The trace context as a comment at the end of a query (SQL commenter)."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

# Not what is configured: baggage can hold anything, and the server logs it.
_PROPAGATOR: Final = TraceContextTextMapPropagator()


def commented(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a method of `Connection` with the current trace context in its query."""
    if len(args) > 1:
        return (args[0], _with_comment(args[1]), *args[2:]), kwargs
    for name in ("query", "command"):
        if name in kwargs:
            return args, {**kwargs, name: _with_comment(kwargs[name])}
    return args, kwargs


def _with_comment(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    if not carrier:
        return text
    # A comment to the end of the line, if there is one, ends where the line does.
    between = "\n" if "--" in text.rpartition("\n")[2] else " "
    # URL encoding takes care of quotes, and of what would end the comment.
    pairs = ",".join(f"{quote(key, safe='')}='{quote(value, safe='')}'" for key, value in sorted(carrier.items()))
    return f"{text}{between}/*{pairs}*/"
