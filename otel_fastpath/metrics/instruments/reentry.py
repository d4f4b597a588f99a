"""Measurements made while their own thread holds stock's locks, which are not reentrant.

A signal handler or a finalizer can measure while its thread records or collects. With stock's code it would then
deadlock, because its own thread holds the lock. Here such a measurement is queued, and recorded as soon as the locks
are released.
"""

from __future__ import annotations

import os
from threading import local
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context import get_current

from otel_fastpath import left_out
from otel_fastpath.patching.outcome import call_guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

_PLACE: Final = "metrics"
_WHY: Final = "They cause one another without end, such as in a callback of the garbage collector."


class _Thread(local):
    """This thread, as a key; unlike its identifier, no thread of a forked child can get that of one of the parent."""

    def __init__(self) -> None:
        self.key = _Key(os.getpid())


class _Key:
    __slots__ = ("process",)

    def __init__(self, process: int) -> None:
        self.process = process


_this = _Thread()
# The threads that hold stock's locks, and the measurements that each has queued.
inside: Final[dict[_Key, list[tuple[Any, ...]]]] = {}


class _ReplayLimit:
    """How many measurements are recorded that come up while queued ones are recorded.

    Each may cause the next: recording can start a garbage collection, whose callback measures. Where it did, the limit
    is the lower one from then on, because each measurement pays for those that follow it.
    """

    def __init__(self) -> None:
        self.most = 10_000

    def count_left_out(self, number: int) -> None:
        """Count the measurements that are left out."""
        self.most = 100
        for _ in range(number):
            left_out.add("measurements made while others were recorded", _WHY)


limit: Final = _ReplayLimit()


def is_inside() -> bool:
    """Whether this thread holds stock's locks."""
    return _this.key in inside


def hold_locks(original: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that takes stock's locks; measurements on this thread meanwhile are recorded afterwards.

    Raises:
        Exception: The function's exception; never one of our own.
    """
    thread = _this.key
    if thread in inside:
        return original(*arguments)
    aside: list[tuple[Any, ...]] = []
    # No call between here and the `try`: a signal handler that raises there would leave the thread marked forever.
    inside[thread] = aside
    try:
        return original(*arguments)
    finally:
        del inside[thread]
        if aside:
            _record_later(aside)


class MarkedLock:
    """One of stock's locks, for `with`; measurements on this thread meanwhile are recorded afterwards.

    Since Python 3.14 the interpreter runs signal handlers and finalizers after each call of a C function, also after a
    lock's `__enter__`. In plain Python, one of them can therefore run before the first line of the block.

    Args:
        lock: The lock.
    """

    __slots__ = ("_lock",)

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        """Mark this thread, and acquire the lock.

        Raises:
            BaseException: The exception of a signal handler.
        """
        thread = _this.key
        inside[thread] = []
        try:
            self._lock.__enter__()
        except BaseException:
            del inside[thread]
            raise

    def __exit__(self, *exception: object) -> None:
        """Release the lock, and record what was measured meanwhile."""
        self._lock.__exit__(None, None, None)
        aside = inside.pop(_this.key)
        if aside:
            _record_later(aside)


def record(original: Callable[..., Any], instrument: Any, amount: Any, attributes: Any, context: Any) -> None:
    """Call stock's `add`, `record` or `set` now, or as soon as this thread has released stock's locks.

    Raises:
        Exception: The exception of stock's method, if it is called now; never one of our own.
    """
    thread = _this.key
    if thread in inside:
        _put_aside(inside[thread], original, instrument, amount, attributes, context)
    else:
        hold_locks(original, instrument, amount, attributes, context)


@never_raises(_PLACE)
def _put_aside(
    aside: list[tuple[Any, ...]],
    original: Callable[..., Any],
    instrument: Any,
    amount: Any,
    attributes: Any,
    context: Any,
) -> None:
    # By then, the caller may have changed its dict and left its context.
    kept = dict(attributes) if isinstance(attributes, dict) else attributes
    aside.append((original, instrument, amount, kept, context or get_current()))


@never_raises(_PLACE)
def _record_later(aside: list[tuple[Any, ...]]) -> None:
    """Record the queued measurements. Errors are not raised: the caller here did not make these measurements.

    What is measured on this thread meanwhile joins the queue. A queue of its own for each would nest as deep as signals
    are frequent.
    """
    thread = _this.key
    left = len(aside) + limit.most
    while aside:
        if not left:
            limit.count_left_out(len(aside))
            return
        left -= 1
        original, *arguments = aside.pop(0)
        inside[thread] = aside
        try:
            call_guarded(_PLACE, original, *arguments)
        finally:
            del inside[thread]


def _after_fork() -> None:
    """Forget the parent's other threads; the child's own may run already, such as that of a metric reader."""
    own, process = _this.key, os.getpid()
    for thread in tuple(inside):
        if thread is not own and thread.process != process:
            del inside[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
