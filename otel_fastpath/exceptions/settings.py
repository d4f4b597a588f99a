"""What to count: the values of OTEL_FASTPATH_EXCEPTIONS*, read and checked."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_logger = logging.getLogger(__name__)

OFF: Final = "off"
RAISED: Final = "raised"
HANDLED: Final = "handled"
MODES: Final = (OFF, RAISED, HANDLED)
OPTIONS: Final = ("code", "operations", "python")
# How an iteration, a task or a process ends; not what went wrong.
SKIPPED: Final = frozenset(
    {
        "StopIteration",
        "StopAsyncIteration",
        "GeneratorExit",
        "asyncio.exceptions.CancelledError",
        "KeyboardInterrupt",
        "SystemExit",
    }
)
LIMIT: Final = 200
MAX_LIMIT: Final = 10_000


@dataclass(frozen=True)
class Settings:
    """What is counted, and how it is shown.

    Attributes:
        mode: "raised" counts exceptions; "handled" also those that some code caught for good; "off" counts nothing.
        asked: Whether the user said so; if not, what cannot be had is no cause for a warning.
        code: Count per raise site, and give the metric its function, file and line.
        operations: Give each server span the number of exceptions raised while it was open.
        python: Where there is no compiled callback, use one in Python, which costs more than ten times as much.
        skip: Names of types that are not counted, nor are their subclasses.
        modules: Whose code counts: () for all, ("mine",), ("no-stdlib",), or names of modules and packages.
        limit: How many types are told apart; the rest is `_OTHER`.
    """

    mode: str = RAISED
    asked: bool = False
    code: bool = False
    operations: bool = False
    python: bool = False
    skip: frozenset[str] = SKIPPED
    modules: tuple[str, ...] = ()
    limit: int = LIMIT

    @classmethod
    def parse(cls, mode: Any = None, skip: Any = None, modules: Any = None, limit: Any = None) -> Settings:
        """Read the settings from variables or keyword arguments; None or "" counts as unset.

        Each list is an iterable of strings or one comma-separated string. What is wrong is logged and left out.
        """
        words = _words("OTEL_FASTPATH_EXCEPTIONS", mode)
        modes = [word for word in words if word in MODES]
        options = [word for word in words if word in OPTIONS]
        for word in words:
            if word not in MODES and word not in OPTIONS:
                _logger.warning(
                    "OTEL_FASTPATH_EXCEPTIONS: %r is none of %s. It is ignored.", word, ", ".join(MODES + OPTIONS)
                )
        names = frozenset(_words("OTEL_FASTPATH_EXCEPTIONS_SKIP", skip))
        return cls(
            mode=modes[-1] if modes else RAISED,
            asked=bool(modes or options),
            code="code" in options,
            operations="operations" in options,
            python="python" in options,
            skip=(names - {"default", "none"}) | (SKIPPED if "default" in names or not names else frozenset()),
            modules=tuple(_words("OTEL_FASTPATH_EXCEPTIONS_MODULES", modules)),
            limit=_limit(limit),
        )


def _words(setting: str, value: Any) -> list[str]:
    if value is None:
        return []
    parts: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    try:
        return [part.strip() for part in parts if part.strip()]
    except (TypeError, AttributeError):
        _logger.warning("%s: %r is no list of names. It is ignored.", setting, value)
        return []


def _limit(value: Any) -> int:
    if value is None or value == "":
        return LIMIT
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if 1 <= number <= MAX_LIMIT:
        return number
    _logger.warning(
        "OTEL_FASTPATH_EXCEPTIONS_LIMIT: %r is no number from 1 to %d. %d is used.", value, MAX_LIMIT, LIMIT
    )
    return LIMIT
