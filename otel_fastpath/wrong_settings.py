"""Reports invalid settings.

Each invalid setting is logged, and also written to stderr if the log does not reach the console. Each is reported once
per process, and shown again by `otel-fastpath status`.
"""

from __future__ import annotations

import logging
import reprlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["forget", "found", "parts", "read", "report"]

_logger = logging.getLogger(__name__)

IGNORED: Final = "It is ignored."
_NEAREST: Final = 3
# How many characters of a value are shown, and compared with the allowed values.
_SHOWN: Final = 200

# The messages reported in this process, and the messages since `forget`.
_told: dict[str, object] = {}
_found: dict[str, None] = {}
_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _SHOWN


class Unreadable:
    """Stands for a value whose own methods raise: it is no valid value of any setting, and can be shown."""

    def __init__(self, value: Any) -> None:
        self._text = _shown(value)

    def __repr__(self) -> str:
        return self._text

    def __str__(self) -> str:
        # Not the value's, which may look like a valid one.
        return ""


def read(parse: Callable[[str, Any], Any], setting: str, value: Any) -> Any:
    """The setting as `parse` reads it, which reports an invalid value and returns what is used instead. Never raises.

    A keyword argument can be any object, such as an array that cannot be compared: it is invalid like any other value.
    """
    try:
        return parse(setting, value)
    except Exception:  # of the value's methods
        return parse(setting, Unreadable(value))


def as_given(_setting: str, value: Any) -> Any:
    """The value, for other code to read: with this function, `read` makes sure that it can be tested and compared."""
    bool(value), bool(value == "")
    return value


def report(
    setting: str,
    value: Any,
    expected: str,
    effect: str = IGNORED,
    *,
    allowed: Iterable[str] = (),
    level: int = logging.WARNING,
) -> None:
    """Report an invalid value, or an invalid part of a value. Never raises.

    Args:
        setting: The setting as the user made it: a variable, or `instrument(keyword=...)`.
        value: The invalid value.
        expected: A description of valid values.
        effect: What is done instead, as a sentence.
        allowed: All valid values. If there are more than three, the message names the three most similar ones.
        level: The level of the log record.
    """
    every = tuple(allowed)
    hint = f"; nearest: {', '.join(nearest(value, every))}" if len(every) > _NEAREST else ""
    text = f"{setting}: {_shown(value)} is not valid; expected {expected}{hint}. {effect}"
    _found[text] = None
    # Atomic, so that only one of two threads reports it.
    mine = object()
    if _told.setdefault(text, mine) is not mine:
        return
    from otel_fastpath import console  # noqa: PLC0415  # only where a setting is wrong

    console.show(_logger, level, text)


def found() -> tuple[str, ...]:
    """The messages about the settings that this process was last instrumented with."""
    return tuple(_found)


def forget() -> None:
    """Forget the messages that `found` returns, before the settings are read again."""
    _found.clear()


def parts(setting: str, value: Any, expected: str) -> list[str]:
    """The parts of a list, which is a comma-separated string or an iterable of strings. Invalid parts are reported."""
    if value is None:
        return []
    kept = []
    try:
        for part in _listed(value):
            if isinstance(part, str):
                kept.append(part.strip())
            else:
                report(setting, part, expected)
    except Exception:  # it is not iterable, or its iterator raises
        report(setting, value, f"{expected}, or one comma-separated string")
    return [part for part in kept if part]


def _listed(value: Any) -> Iterable[Any]:
    if isinstance(value, (bytes, bytearray)):
        raise TypeError  # the elements would be numbers
    return value.split(",") if isinstance(value, str) else value


def _shown(value: Any) -> str:
    try:
        return _shortened.repr(value)
    except Exception:  # of its own method, or a number with too many digits
        return f"<{type(value).__name__} object>"


def nearest(value: Any, allowed: Iterable[str]) -> list[str]:
    """The three allowed values that are most similar to the value, the most similar first."""
    text = value[:_SHOWN] if isinstance(value, str) else _shown(value)
    by_lower = {each.lower(): each for each in allowed}
    import difflib  # noqa: PLC0415  # only if something is wrong

    return [by_lower[each] for each in difflib.get_close_matches(text.lower(), by_lower, _NEAREST, cutoff=0)]
