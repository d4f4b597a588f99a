"""The options of a database wrapper: OTEL_FASTPATH_<LIBRARY>_OPTIONS, `instrument(<library>_options=...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from otel_fastpath import wrong_settings
from otel_fastpath.settings import title

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Options:
    """The options that every database has; a library with more options has a subclass.

    Attributes:
        metrics: Durations, rows and pools are reported as metrics.
        transactions: Statements that begin, end, or set a mark in a transaction are spans.
        parameters: The parameters of queries become attributes, each cut to a length.
        rows: The number of rows becomes an attribute, too.
        sqlcommenter: The trace context is appended to each query as a comment.
        names: Name of an option -> the attribute that it sets, and the value.
    """

    metrics: bool = True
    transactions: bool = True
    parameters: bool = False
    rows: bool = False
    sqlcommenter: bool = False

    names: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "no-metrics": ("metrics", False),
        "no-transactions": ("transactions", False),
        "parameters": ("parameters", True),
        "rows": ("rows", True),
        "sqlcommenter": ("sqlcommenter", True),
    }


_Own = TypeVar("_Own", bound=Options)


def parse(library: str, given: Any, kind: type[_Own]) -> _Own:
    """Read a comma-separated string, or names; unknown options are reported and ignored.

    Args:
        library: The library that the options are for.
        given: The string, or the names.
        kind: The class of its options.
    """
    setting, known = title(f"{library}_options"), sorted(kind.names)
    expected = f"any of {', '.join(known)}"
    asked = [name.lower() for name in wrong_settings.parts(setting, given, expected)]
    for name in asked:
        if name not in kind.names:
            wrong_settings.tell(setting, name, expected, allowed=known)
    return kind(**dict(kind.names[name] for name in asked if name in kind.names))
