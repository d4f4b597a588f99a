"""Counts the exceptions of this process, each of them once.

`instrument()` starts counting if OTEL_FASTPATH_EXCEPTIONS asks for it. To use it on its own:

    from otel_fastpath import exceptions

    exceptions.start(exceptions.Settings())
    for count in exceptions.snapshot():
        print(count.type, count.raised)
    exceptions.stop()

Importing this package does no work: each name below is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_fastpath.exceptions.boundaries import UncaughtCount, uncaught
    from otel_fastpath.exceptions.counters import start, status, stop
    from otel_fastpath.exceptions.defaults import Settings
    from otel_fastpath.exceptions.monitor import SiteCount, TypeCount, is_counting, snapshot
    from otel_fastpath.exceptions.server_spans import ExceptionCountProcessor

__all__ = [
    "ExceptionCountProcessor",
    "Settings",
    "SiteCount",
    "TypeCount",
    "UncaughtCount",
    "is_counting",
    "snapshot",
    "start",
    "status",
    "stop",
    "uncaught",
]

_HOMES = {
    "boundaries": ("UncaughtCount", "uncaught"),
    "counters": ("start", "status", "stop"),
    "monitor": ("SiteCount", "TypeCount", "is_counting", "snapshot"),
    "server_spans": ("ExceptionCountProcessor",),
    "defaults": ("Settings",),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{home}"), name)
    return value
