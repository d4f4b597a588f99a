"""What this package left out of the telemetry because there was too much of it: counted, and logged once a kind."""

from __future__ import annotations

import logging
from typing import Final

from otel_fastpath.locks import Tally
from otel_fastpath.patching import faults

_logger = logging.getLogger(__name__)
_counts: Final = Tally()


def add(kind: str, why: str) -> None:
    """Count something that is left out. Never raises.

    Args:
        kind: What it is.
        why: Why it is left out, for the log.
    """
    try:
        if _counts.add(kind):
            _logger.warning("Left out: %s. %s Further ones are only counted.", kind, why)
    except Exception as error:  # raised by a log handler: the host must not see it here
        faults.raise_interruption(error)


def forget() -> None:
    """Begin to count anew."""
    _counts.clear()


def counts() -> dict[str, int]:
    """How much was left out so far, by kind."""
    return dict(_counts)
