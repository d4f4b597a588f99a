"""The state of every patch and wrapper, in this process and in a running one.

The names below are loaded on first use: a process that is instrumented needs only `presence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_fastpath.status.state import Status, as_json, as_text, collect

__all__ = ["Status", "as_json", "as_text", "collect"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from otel_fastpath.status import state  # noqa: PLC0415  # see above

    return getattr(state, name)
