"""The options of a database wrapper: OTEL_FASTPATH_<LIBRARY>_OPTIONS, `instrument(<library>_options=...)`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, make_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

from otel_fastpath import wrong_settings
from otel_fastpath.settings import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|m)")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
_FEWEST_REPEATS: Final = 2


class Valued(NamedTuple):
    """An option with a value: `name=value`.

    Attributes:
        attribute: The attribute that it sets.
        read: Returns the value of the attribute; None: the text is not valid.
        expected: A description of valid options.
        default: The text if only the name is given; empty: there must be a value.
    """

    attribute: str
    read: Callable[[str], Any]
    expected: str
    default: str = ""


def seconds(text: str) -> float | None:
    """A duration such as "500ms", in seconds; None: it is not valid, or not longer than nothing."""
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _SECONDS[found[2]] or None if found else None


def repetitions(text: str) -> int | None:
    """A number of repetitions; None: it is not valid."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < len("1000000000") else 0
    return number if number >= _FEWEST_REPEATS else None


@dataclass(frozen=True)
class DatabaseOptions:
    """The options that every database has; `options_with` makes the class of a library that has others.

    Attributes:
        metrics: Durations, rows and pools are reported as metrics.
        transactions: Statements that begin, end, or set a mark in a transaction are spans.
        parameters: The parameters of queries become attributes, each cut to a length.
        rows: The number of rows becomes an attribute, too.
        sqlcommenter: The trace context is appended to each query as a comment.
        slow: The duration of a query, in seconds, from which on its parameters become attributes; None: there is none.
        repeats: The number of queries with one summary from which on a server span tells it; None: it is not counted.
        names: Name of an option -> the attribute that it sets, and the value.
        values: Name of an option that has a value -> its description.
    """

    metrics: bool = True
    transactions: bool = True
    parameters: bool = False
    rows: bool = False
    sqlcommenter: bool = False
    slow: float | None = None
    repeats: int | None = None

    names: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "no-metrics": ("metrics", False),
        "no-transactions": ("transactions", False),
        "parameters": ("parameters", True),
        "rows": ("rows", True),
        "sqlcommenter": ("sqlcommenter", True),
    }
    values: ClassVar[Mapping[str, Valued]] = {
        "slow": Valued("slow", seconds, "slow=DURATION, such as slow=500ms or slow=2s"),
        "repeats": Valued("repeats", repetitions, "repeats=NUMBER of at least 2, or repeats for 10", "10"),
    }


def options_with(*flags: str, common: Iterable[str] = DatabaseOptions.names) -> type[DatabaseOptions]:
    """The class of a library's options.

    Args:
        flags: Its own options without a value, which are off by default.
        common: Those of all databases that mean something for it.
    """
    names = {**{name: DatabaseOptions.names[name] for name in common}, **{flag: (flag, True) for flag in flags}}
    fields = [(flag, bool, field(default=False)) for flag in flags]
    return make_dataclass("Options", fields, bases=(DatabaseOptions,), namespace={"names": names}, frozen=True)


_Own = TypeVar("_Own", bound=DatabaseOptions)


def parse(library: str, given: Any, kind: type[_Own]) -> _Own:
    """Read a comma-separated string, or names; unknown options are reported and ignored."""
    setting, known = title(f"{library}_options"), sorted([*kind.names, *kind.values])
    expected = f"any of {', '.join(known)}"
    found: dict[str, Any] = {}
    for option in wrong_settings.parts(setting, given, expected):
        name, sign, text = (part.strip() for part in option.lower().partition("="))
        if name in kind.values:
            valued = kind.values[name]
            value = valued.read(text if sign else valued.default)
            if value is None:
                wrong_settings.report(setting, option, valued.expected)
            else:
                found[valued.attribute] = value
        elif option.lower() in kind.names:
            attribute, value = kind.names[option.lower()]
            found[attribute] = value
        else:
            wrong_settings.report(setting, option.lower(), expected, allowed=known)
    return kind(**found)
