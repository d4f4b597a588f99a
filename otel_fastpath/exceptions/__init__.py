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
    from otel_fastpath.exceptions.counting import start, status, stop
    from otel_fastpath.exceptions.monitor import SiteCount, TypeCount, is_counting, snapshot
    from otel_fastpath.exceptions.operations import ExceptionCountProcessor
    from otel_fastpath.exceptions.settings import Settings

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
    "counting": ("start", "status", "stop"),
    "monitor": ("SiteCount", "TypeCount", "is_counting", "snapshot"),
    "operations": ("ExceptionCountProcessor",),
    "settings": ("Settings",),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{home}"), name)
    return value
