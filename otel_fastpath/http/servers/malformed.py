"""Requests in which a server or a middleware of others has put what does not belong there."""

from __future__ import annotations

from typing import Any, Final

_PAIR: Final = {2}


def is_malformed_scope(scope: Any) -> bool:
    """Whether a server or a middleware has put into a scope what the specification of ASGI has no place for."""
    try:
        texts = [scope.get(name, "") for name in ("path", "method", "scheme", "http_version")]
        pairs = [pair for name in ("client", "server") if (pair := scope.get(name)) is not None]
        raw = [scope.get("query_string", b""), *(part for pair in scope.get("headers", ()) for part in pair)]
        return not (
            all(isinstance(text, str) for text in texts)
            and all(isinstance(part, bytes) for part in raw)
            and {len(pair) for pair in (*pairs, *scope.get("headers", ()))} <= _PAIR
        )
    except (AttributeError, TypeError):
        return True
