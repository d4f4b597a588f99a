"""What the asyncpg wrapper can be told: OTEL_FASTPATH_ASYNCPG_OPTIONS, `instrument(asyncpg_options=...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from otel_fastpath import wrong_settings
from otel_fastpath.settings import title

# Name -> the attribute of `Options` and the value that it stands for.
_NAMES: Final = {
    "acquire": ("acquire", True),
    "no-metrics": ("metrics", False),
    "no-transactions": ("transactions", False),
    "parameters": ("parameters", True),
    "reset": ("reset", True),
    "rows": ("rows", True),
    "sqlcommenter": ("sqlcommenter", True),
}


@dataclass(frozen=True)
class Options:
    """The options.

    Attributes:
        acquire: Waiting for a connection of a pool is a span.
        metrics: Durations, rows and pools are reported as metrics.
        transactions: Statements that begin, end, or set a mark in a transaction are spans.
        parameters: The parameters of queries become attributes, each cut to a length.
        reset: The query by which a connection is reset when it returns to its pool is a span.
        rows: The number of rows becomes an attribute, too.
        sqlcommenter: The trace context is appended to each query as a comment.
    """

    acquire: bool = False
    metrics: bool = True
    transactions: bool = True
    parameters: bool = False
    reset: bool = False
    rows: bool = False
    sqlcommenter: bool = False

    @classmethod
    def parse(cls, given: Any) -> Options:
        """Read a comma-separated string, or names; what is not understood is told and ignored."""
        setting, expected = title("asyncpg_options"), f"any of {', '.join(_NAMES)}"
        names = [name.lower() for name in wrong_settings.parts(setting, given, expected)]
        for name in names:
            if name not in _NAMES:
                wrong_settings.tell(setting, name, expected, allowed=_NAMES)
        return cls(**dict(_NAMES[name] for name in names if name in _NAMES))
