"""Log records that could not be made: an error of the application's objects or processors, which must not reach it."""

from __future__ import annotations

import logging
from typing import Final

from otel_fastpath.locks import Tally

_logger = logging.getLogger(__name__)
_counts: Final = Tally()


def refuse(place: str, error: BaseException) -> None:
    """Count an error of other code, and log the first one of each place and type. Never raises."""
    try:
        if _counts.add(f"{place}: {type(error).__qualname__}"):
            _logger.error(
                "A log record was not emitted by %s, because of an error in other code. Further ones are only counted.",
                place,
                exc_info=error,
            )
    except Exception:  # noqa: S110  # raised by a log handler: the host must not see it here
        pass


def counts() -> dict[str, int]:
    """The number of records so far, by place and type of the error."""
    return dict(_counts)
