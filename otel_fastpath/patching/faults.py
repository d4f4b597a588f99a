"""Faults of our own: told from those of the code we call, logged once for each place, counted."""

from __future__ import annotations

import logging
import sys
from typing import Final

from otel_fastpath.locks import Tally

_OWN: Final = "otel_fastpath"
_UPSTREAM: Final = "opentelemetry"
_logger = logging.getLogger(__name__)
_counts: Final = Tally()


def ours(error: BaseException) -> bool:
    """Whether the exception was raised by a line of this package, or by the standard library that the line called.

    It is not ours where anybody else stands between: a sampler of the user's own that misuses a span gets from us what
    it would get from upstream, and what upstream raises is upstream's answer to the caller.
    """
    last = ""
    step = error.__traceback__
    while step is not None:
        top = str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if top in {_OWN, _UPSTREAM}:
            last = top
        elif top not in sys.stdlib_module_names:
            return False
        step = step.tb_next
    return last == _OWN


def report(place: str, error: BaseException) -> None:
    """Count a fault; log the first of each place. Never raises."""
    try:
        if _counts.add(place):
            _logger.error(
                "otel-fastpath failed in %s; upstream's own code runs instead. Logged once, counted further.",
                place,
                exc_info=error,
            )
    except Exception:  # noqa: S110  # a handler of somebody's own: it is not for the host to meet that here
        pass


def absorb(place: str, error: BaseException) -> None:
    """In an `except` clause: report a fault of ours, raise again what is none."""
    if not ours(error):
        raise error
    report(place, error)


def counts() -> dict[str, int]:
    """The faults so far: place -> number."""
    return dict(_counts)
