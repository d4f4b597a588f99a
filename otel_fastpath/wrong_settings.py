"""Tells of settings that are not valid: the one place that decides how.

Each is a line in the log, and a line on stderr where the log does not reach the console: the root logger of a service
often has OpenTelemetry's handler only, which sends the line to a back end where nobody looks for it. Each is told once
per process, and `otel-fastpath status` repeats it.
"""

from __future__ import annotations

import contextlib
import difflib
import logging
import os
import reprlib
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["forget", "found", "parts", "tell"]

_logger = logging.getLogger(__name__)

IGNORED: Final = "It is ignored."
_NEAREST: Final = 3
# Characters of a value that are shown, and compared with what is allowed.
_SHOWN: Final = 200

# What was told in this process, and what was found since `forget`.
_told: dict[str, object] = {}
_found: dict[str, None] = {}
_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = _SHOWN


def tell(
    setting: str,
    value: Any,
    expected: str,
    effect: str = IGNORED,
    *,
    allowed: Iterable[str] = (),
    level: int = logging.WARNING,
) -> None:
    """Tell of a value, or of a part of one, that is not valid. Never raises.

    Args:
        setting: What the user called it: a variable, `instrument(keyword=...)`.
        value: What is not valid.
        expected: What would be, in words.
        effect: What is done instead, a sentence.
        allowed: Every valid value. Of more than three, which `expected` may leave out, the three nearest are named.
        level: Of the log record.
    """
    every = tuple(allowed)
    hint = f"; nearest: {', '.join(nearest(value, every))}" if len(every) > _NEAREST else ""
    text = f"{setting}: {_shown.repr(value)} is not valid; expected {expected}{hint}. {effect}"
    _found[text] = None
    # One operation, so that of two threads only one tells.
    mine = object()
    if _told.setdefault(text, mine) is not mine:
        return
    # Handlers are other people's code, and may raise.
    with contextlib.suppress(Exception):
        _logger.log(level, "%s", text)
    if not _reaches_console(level):
        # There may be no stderr, or a closed one.
        with contextlib.suppress(Exception):
            sys.stderr.write(f"otel-fastpath: {text}\n")


def found() -> tuple[str, ...]:
    """What is not valid among the settings that this process was instrumented with last, a line each."""
    return tuple(_found)


def forget() -> None:
    """The settings are read anew: what is not valid any more is not repeated."""
    _found.clear()


def parts(setting: str, value: Any, expected: str) -> list[str]:
    """The parts of a list, a comma-separated string or an iterable of strings; the rest holds where one is not valid.

    Args:
        setting: As in `tell`.
        value: The list; None is an empty one.
        expected: What the parts would be, in words.
    """
    if value is None:
        return []
    given: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    kept = []
    try:
        for part in given:
            if isinstance(part, str):
                kept.append(part.strip())
            else:
                tell(setting, part, expected)
    except TypeError:
        tell(setting, value, f"{expected}, or one comma-separated string")
    return [part for part in kept if part]


def nearest(value: Any, allowed: Iterable[str]) -> list[str]:
    """The three of what is allowed that look most like the value, the nearest first."""
    text = value[:_SHOWN] if isinstance(value, str) else _shown.repr(value)
    by_lower = {each.lower(): each for each in allowed}
    return [by_lower[each] for each in difflib.get_close_matches(text.lower(), by_lower, _NEAREST, cutoff=0)]


def _reaches_console(level: int) -> bool:
    """Whether a record of ours of this level is written to stdout or stderr by the handlers that there are."""
    if not _logger.isEnabledFor(level):
        return False
    handlers = list(_handlers())
    if not handlers:
        handlers = [logging.lastResort] if logging.lastResort is not None else []
    return any(level >= handler.level and _is_console(handler) for handler in handlers)


def _handlers() -> Iterator[logging.Handler]:
    logger: logging.Logger | None = _logger
    while logger is not None:
        yield from logger.handlers
        logger = logger.parent if logger.propagate else None


def _is_console(handler: Any, depth: int = 2) -> bool:
    """Whether the handler, or one that it hands its records to, writes to stdout or stderr.

    A handler of a kind that is not known does not: a line that is there twice is better than none.
    """
    # `console` is that of rich's handler, `target` a MemoryHandler's, `listener` a QueueHandler's.
    streams = [getattr(handler, "stream", None), getattr(getattr(handler, "console", None), "file", None)]
    if any(map(_is_standard, streams)):
        return True
    behind = [getattr(handler, "target", None), *getattr(getattr(handler, "listener", None), "handlers", ())]
    return depth > 0 and any(_is_console(each, depth - 1) for each in behind if each is not None)


def _is_standard(stream: Any) -> bool:
    """Whether what is written to this stream is seen where stdout or stderr is."""
    if stream is None:
        return False
    if any(stream is each for each in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__)):
        return True
    try:
        place = os.fstat(stream.fileno())
        return any(os.path.samestat(place, os.fstat(number)) for number in (1, 2))
    except (AttributeError, OSError, ValueError):
        return False
