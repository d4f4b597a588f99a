"""Log records that could not be made: an error of the application's objects or processors, which must not reach it."""

from __future__ import annotations

import logging
from typing import Final

from otel_fastpath.locks import Tally
from otel_fastpath.patching import faults

_logger = logging.getLogger(__name__)
_counts: Final = Tally()


def refuse(place: str, error: BaseException) -> None:
    """In an `except` clause: count an error of an object of the application, and log the first of each place and type.

    Raises:
        BaseException: The error, if it arrived between two instructions, or a processor raised it.
    """
    try:
        faults.raise_others(error)
    except BaseException:
        # The exception and this frame would refer to each other.
        del error
        raise
    try:
        if _counts.add(f"{place}: {type(error).__qualname__}"):
            _logger.error(
                "A log record was not emitted by %s, because of an error in other code. Further ones are only counted.",
                place,
                exc_info=error,
            )
    except Exception as fault:  # raised by a log handler: the host must not see it here
        faults.raise_interruption(fault)


def counts() -> dict[str, int]:
    """The number of records so far, by place and type of the error."""
    return dict(_counts)
