"""Faults of our own: told from those of the code we call, logged once for each place, counted."""

from __future__ import annotations

import logging
import threading
from collections import Counter

_logger = logging.getLogger(__name__)
_counts: Counter[str] = Counter()
_lock = threading.Lock()


def ours(error: BaseException) -> bool:
    """Whether the exception was raised by a line of this package, and not by what that line called."""
    step = error.__traceback__
    if step is None:
        return False
    while step.tb_next is not None:
        step = step.tb_next
    return str(step.tb_frame.f_globals.get("__name__", "")).startswith("otel_fastpath.")


def report(place: str, error: BaseException) -> None:
    """Count a fault; log the first of each place."""
    with _lock:
        _counts[place] += 1
        first = _counts[place] == 1
    if first:
        _logger.error(
            "otel-fastpath failed in %s; upstream's own code runs instead. Logged once, counted further.",
            place,
            exc_info=error,
        )


def absorb(place: str, error: BaseException) -> None:
    """In an `except` clause: report a fault of ours, raise again what is none."""
    if not ours(error):
        raise error
    report(place, error)


def counts() -> dict[str, int]:
    """The faults so far: place -> number."""
    with _lock:
        return dict(_counts)
