"""What the hot paths share: their names, and values that they use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import SpanContext, TraceFlags

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotpaths.given import Given

ATTRIBUTES = {
    "http.request.method": "GET",
    "server.port": 8000,
    "ratio": 0.5,
    "tags": ["a", "b"],
    "is_new": True,
    "sizes": (1, 2),
    "url.path": "/items/4711",
}
REMOTE = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(1))
PATHS: dict[str, Callable[[Given], None]] = {}


def path(name: str) -> Callable[[Callable[[Given], None]], Callable[[Given], None]]:
    """Give the path of this name."""

    def add(function: Callable[[Given], None]) -> Callable[[Given], None]:
        PATHS[name] = function
        return function

    return add
