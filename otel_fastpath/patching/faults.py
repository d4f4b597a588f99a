"""Errors in this package's own code: told apart from errors of other code, logged once per place and type, counted."""

from __future__ import annotations

import logging
import sys
from typing import Final

from otel_fastpath.locks import Tally

_OWN: Final = "otel_fastpath"
_UPSTREAM: Final = "opentelemetry"
_logger = logging.getLogger(__name__)
_FAULT: Final = "otel-fastpath failed in %s and went on without it. Further such failures are only counted."
_ERROR_OF_OTHERS: Final = "Code that otel-fastpath called in %s raised an exception. Further such ones are not logged."
_counts: Final = Tally()
_counts_of_others: Final = Tally()
# What was logged: a place's first exception must not hide another kind there.
_logged: Final = Tally()
# The attribute of an exception that a value of others caused, although no code of theirs was called.
_OF_OTHERS: Final = "_otel_fastpath_of_others"


def ours(error: BaseException) -> bool:
    """Whether the exception was raised by this package's code, or by standard library code that it called.

    It is not when other code is in between: a user's sampler that misuses a span gets the same exception as from
    upstream, and an exception that upstream raises is meant for the caller.
    """
    if _is_of_others(error):
        return False
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


def text_of(value: object) -> str:
    """`str(value)`, for a value of others: what this raises is their error.

    Raises:
        Exception: The exception of the value's own method, or of `str` at what that method returned.
    """
    try:
        return str(value)
    except Exception as error:
        setattr(error, _OF_OTHERS, True)
        raise


def _is_of_others(error: BaseException) -> bool:
    # The exception can be the application's, and answer for any attribute.
    return _OF_OTHERS in object.__getattribute__(error, "__dict__")


def report(place: str, error: BaseException) -> None:
    """Count a fault, and log the first one of each place and type of exception. Never raises."""
    is_fault = not _is_of_others(error)
    _tell(_counts if is_fault else _counts_of_others, _FAULT if is_fault else _ERROR_OF_OTHERS, place, error)


def report_any(place: str, error: BaseException) -> None:
    """The same where other code may have raised the exception, such as upstream's at a client's request: no fault."""
    if ours(error):
        report(place, error)
    else:
        _tell(_counts_of_others, _ERROR_OF_OTHERS, place, error)


def _tell(counts: Tally, message: str, place: str, error: BaseException) -> None:
    try:
        kind = type(error)
        is_first = counts.add(place)
        if _logged.add(f"{message}{place}{kind.__module__}{kind.__qualname__}") or is_first:
            _logger.error(message, place, exc_info=error)
    except Exception:  # noqa: S110  # raised by a log handler: the host must not see it here
        pass


def absorb(place: str, error: BaseException) -> None:
    """In an `except` clause: report the exception if it is ours, otherwise raise it again."""
    if not ours(error):
        raise error
    report(place, error)


def counts() -> dict[str, int]:
    """The number of faults so far, by place."""
    return dict(_counts)
