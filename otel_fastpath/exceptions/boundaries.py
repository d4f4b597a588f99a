"""Counts uncaught exceptions on Python 3.10 and 3.11.

These versions have no `sys.monitoring`, and a trace function would slow down every call. Therefore only exceptions are
counted that leave the main thread, another thread, or a callback or task of an event loop. They are a small part of all
exceptions, and have a separate metric.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.exceptions import observables
from otel_fastpath.exceptions.defaults import LIMIT, LONGEST_NAME, SKIPPED, Settings
from otel_fastpath.locks import Lock
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import Patch, Patcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.patching.patch import Row

BOUNDARY: Final = "cpython.exception.boundary"
MAIN: Final = "main"
THREAD: Final = "thread"
EVENT_LOOP: Final = "event_loop"
_OTHER: Final = "_OTHER"

_lock: Final = Lock()
_counts: dict[tuple[str, str], int] = {}
_settings = Settings(skip=SKIPPED, limit=LIMIT)
_is_on = False


@dataclass(frozen=True)
class UncaughtCount:
    """The uncaught exceptions of one type at one boundary.

    Attributes:
        type: Module and qualified name; for builtins the name only.
        boundary: "main", "thread" or "event_loop".
        count: The number of exceptions.
    """

    type: str
    boundary: str
    count: int


def start(settings: Settings, meter_provider: Any = None) -> None:
    """Start counting uncaught exceptions."""
    global _settings, _is_on
    _settings, _is_on = settings, True
    _patcher.install(settings=settings)
    observables.install(observables.UNCAUGHT_NAME, _streams, meter_provider)


def stop() -> None:
    """Restore the original hooks; the counts are kept."""
    global _is_on
    _is_on = False
    _patcher.uninstall()


def is_on() -> bool:
    """Whether the hooks are in place."""
    return _is_on


def status() -> list[Row]:
    """The state of the hooks."""
    return _patcher.status()


def uncaught() -> tuple[UncaughtCount, ...]:
    """The uncaught exceptions, the most frequent first; counted on Python 3.10 and 3.11 only."""
    counts = [UncaughtCount(kind, boundary, count) for (kind, boundary), count in _counts.copy().items() if count]
    return tuple(sorted(counts, key=lambda each: (-each.count, each.type, each.boundary)))


def after_fork() -> None:
    """Reset the counts in a child process."""
    _counts.clear()


def _streams() -> Iterator[tuple[observables.Attributes, int]]:
    if _is_on:
        for each in uncaught():
            yield (("error.type", each.type), (BOUNDARY, each.boundary)), each.count


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _count(kind: Any, boundary: str) -> None:
    if not isinstance(kind, type) or any(_name(base) in _settings.skip for base in kind.__mro__):
        return
    key = (_name(kind), boundary)
    is_long = len(key[0]) > LONGEST_NAME
    with _lock:
        if is_long or (key not in _counts and len(_counts) >= _settings.limit):
            key = (_OTHER, boundary)
        # A task's finalizer can run at any call and count here: no call between reading a count and changing it.
        if key in _counts:
            _counts[key] += 1
        else:
            _counts[key] = 1


def _make_excepthook(original: Any, _settings: Settings) -> Any:
    @functools.wraps(original)
    def excepthook(*args: Any, **kwargs: Any) -> Any:
        _count(args[0] if args else None, MAIN)
        return original(*args, **kwargs)

    return excepthook


def _make_thread_excepthook(original: Any, _settings: Settings) -> Any:
    @functools.wraps(original)
    def excepthook(args: Any, /) -> Any:
        _count(getattr(args, "exc_type", None), THREAD)
        return original(args)

    return excepthook


def _make_call_exception_handler(original: Any, _settings: Settings) -> Any:
    @functools.wraps(original)
    def call_exception_handler(self: Any, context: Any) -> Any:
        exception = context.get("exception") if isinstance(context, dict) else None
        if exception is not None:
            _count(type(exception), EVENT_LOOP)
        return original(self, context)

    return call_exception_handler


PATCHES: Final = (
    Patch(
        name="exceptions.main",
        target="sys:excepthook",
        why="Counts the exception that ends the program.",
        make=_make_excepthook,
        budgets=("an exception ends the program",),
    ),
    Patch(
        name="exceptions.thread",
        target="threading:excepthook",
        why="Counts the exceptions that end threads.",
        make=_make_thread_excepthook,
        budgets=("an exception ends a thread",),
    ),
    Patch(
        name="exceptions.event_loop",
        target="asyncio.base_events:BaseEventLoop.call_exception_handler",
        why="Counts the exceptions of callbacks, and of tasks whose exception was never retrieved.",
        make=_make_call_exception_handler,
        budgets=("an exception of an event loop's callback",),
    ),
)
_patcher: Final = Patcher(PATCHES, interpreter.installed)
