"""An encoder seen from outside: the bytes or the exception, and every log record."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Seen:
    """What came of encoding a batch.

    Attributes:
        result: The bytes, or the type and text of the exception.
        logged: Logger, level, message and exception of each record.
    """

    result: Any
    logged: list[tuple[str, int, str, str]]


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.logged: list[tuple[str, int, str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = repr(record.exc_info[1]) if record.exc_info else ""
        self.logged.append((record.name, record.levelno, record.getMessage(), error))


def look(encode: Callable[[Sequence[Any]], Any], spans: Sequence[Any]) -> Seen:
    """Encode the spans and note what can be seen of it."""
    keep = _Keep()
    root = logging.getLogger()
    root.addHandler(keep)
    try:
        result = encode(spans)
    except Exception as error:
        result = (type(error), str(error))
    finally:
        root.removeHandler(keep)
    return Seen(result, keep.logged)
