"""What the asyncpg wrapper can be told: OTEL_FASTPATH_ASYNCPG_OPTIONS, `instrument(asyncpg_options=...)`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

_logger = logging.getLogger(__name__)

_SETTING: Final = "OTEL_FASTPATH_ASYNCPG_OPTIONS"
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
        """Read a comma-separated string, or names; what is not understood is one log line and ignored."""
        parts = given.split(",") if isinstance(given, str) else given
        try:
            names = [part.strip().lower() for part in parts if part.strip()]
        except (TypeError, AttributeError):
            _logger.warning("%s is %r; expected names, or one comma-separated string. It is ignored.", _SETTING, given)
            return cls()
        unknown = [name for name in names if name not in _NAMES]
        if unknown:
            _logger.warning(
                "%s: no such option: %s; expected any of %s. It is ignored.",
                _SETTING,
                ", ".join(unknown),
                ", ".join(_NAMES),
            )
        return cls(**dict(_NAMES[name] for name in names if name in _NAMES))
