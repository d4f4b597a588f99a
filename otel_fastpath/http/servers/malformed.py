"""Requests in which a server or a middleware of others has put what does not belong there."""

from __future__ import annotations

from typing import Any, Final

_PAIR: Final = {2}
# The variables of an environ that are read.
_VARIABLES: Final = ("HTTP_", "REQUEST_", "SERVER_", "REMOTE_", "RAW_URI", "PATH_INFO", "QUERY_STRING", "wsgi.url")


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


def is_malformed_environ(environ: Any) -> bool:
    """Whether an environ has a value that is no `str`, or a port that is no number: PEP 3333 has no place for them."""
    try:
        texts = [value for name, value in environ.items() if name.startswith(_VARIABLES)]
        if not all(isinstance(text, str) for text in texts):
            return True
        return not all((environ.get(name) or "0").isdigit() for name in ("SERVER_PORT", "REMOTE_PORT"))
    except (AttributeError, TypeError):
        return True
