"""Measurements made while their own thread is inside upstream's locks, which are not reentrant.

A signal handler or a finalizer can measure while its thread records or collects. In upstream's own code it would then
wait for a lock that its own thread holds, forever. Such a measurement is put aside and recorded as soon as the locks
are released.
"""

from __future__ import annotations

import os
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context import get_current

from otel_fastpath.patching.outcome import guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: Final = "metrics"
# The threads that are inside upstream's locks, and the measurements that each has put aside.
inside: Final[dict[int, list[tuple[Any, ...]]]] = {}


def is_inside() -> bool:
    """Whether this thread is inside upstream's locks."""
    return get_ident() in inside


def hold_locks(original: Callable[..., Any], *arguments: Any) -> Any:
    """Call what takes upstream's locks; what is measured meanwhile on this thread is recorded afterwards.

    Raises:
        Exception: What the call raises, and nothing of ours.
    """
    thread = get_ident()
    if thread in inside:
        return original(*arguments)
    aside: list[tuple[Any, ...]] = []
    # No call from here to the `try`: a signal handler that raises there would leave the thread inside for good.
    inside[thread] = aside
    try:
        return original(*arguments)
    finally:
        del inside[thread]
        if aside:
            _record_later(aside)


def record(original: Callable[..., Any], instrument: Any, amount: Any, attributes: Any, context: Any) -> None:
    """Have upstream's `add`, `record` or `set` take the amount: now, or as soon as this thread's locks are released.

    Raises:
        Exception: What upstream's method raises, where it is called now, and nothing of ours.
    """
    thread = get_ident()
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
    # The caller may change its dict, and leaves its context.
    kept = dict(attributes) if isinstance(attributes, dict) else attributes
    aside.append((original, instrument, amount, kept, context or get_current()))


@never_raises(_PLACE)
def _record_later(aside: list[tuple[Any, ...]]) -> None:
    """Record what was put aside, on behalf of callers who asked for something else and do not hear of a failure."""
    for measurement in aside:
        guarded(_PLACE, record, *measurement)


def _forked() -> None:
    """Forget the parent's other threads: new ones may get their numbers."""
    own = inside.get(get_ident())
    inside.clear()
    if own is not None:
        inside[get_ident()] = own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
