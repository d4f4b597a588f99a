"""Text for whoever watches a process: by the log if that reaches the console, else also on stderr.

The root logger of a service often has only OpenTelemetry's handler, which sends a message to a back end where it is
easily missed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def show(
    logger: logging.Logger, level: int, text: str, *, prefix: str = "otel-fastpath: ", is_for_stderr: bool = True
) -> None:
    """Log a text and, if no handler writes it to stdout or stderr, write it to stderr. Never raises.

    Args:
        logger: The logger.
        level: The level of the record.
        text: What to show, one line.
        prefix: What stands before it on stderr.
        is_for_stderr: Whether it may be written there.
    """
    # Log handlers may raise.
    with contextlib.suppress(Exception):
        logger.log(level, "%s", text)
    if is_for_stderr and not _reaches_console(logger, level):
        # stderr may be None or closed.
        with contextlib.suppress(Exception):
            sys.stderr.write(f"{prefix}{text}\n")


def _reaches_console(logger: logging.Logger, level: int) -> bool:
    """Whether a handler writes the log records of a logger with this level to stdout or stderr."""
    if not logger.isEnabledFor(level):
        return False
    handlers = list(_handlers(logger))
    if not handlers:
        handlers = [logging.lastResort] if logging.lastResort is not None else []
    return any(level >= handler.level and _is_console(handler) for handler in handlers)


def _handlers(logger: logging.Logger) -> Iterator[logging.Handler]:
    of: logging.Logger | None = logger
    while of is not None:
        yield from of.handlers
        of = of.parent if of.propagate else None


def _is_console(handler: Any, depth: int = 2) -> bool:
    """Whether the handler, or one that it passes its records to, writes to stdout or stderr.

    Handlers of unknown classes are assumed not to: it is better to show a message twice than not at all.
    """
    # `console` is an attribute of rich's handler, `target` of a MemoryHandler, `listener` of a QueueHandler.
    streams = [getattr(handler, "stream", None), getattr(getattr(handler, "console", None), "file", None)]
    if any(map(_is_standard, streams)):
        return True
    behind = [getattr(handler, "target", None), *getattr(getattr(handler, "listener", None), "handlers", ())]
    return depth > 0 and any(_is_console(each, depth - 1) for each in behind if each is not None)


def _is_standard(stream: Any) -> bool:
    """Whether this stream is stdout or stderr, or writes to the same file as one of them."""
    if stream is None:
        return False
    if any(stream is each for each in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__)):
        return True
    try:
        place = os.fstat(stream.fileno())
        return any(os.path.samestat(place, os.fstat(number)) for number in (1, 2))
    except (AttributeError, OSError, ValueError):
        return False
