"""Log records below WARNING: OpenTelemetry's handlers of `logging` refuse them while they are shed.

Other handlers, such as that of the console, get them as before.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from otel_fastpath.shedding.shed import Shed

# The classes are named, not imported: nothing here imports the SDK.
_HANDLERS: Final = ("opentelemetry.sdk._logs", "opentelemetry.instrumentation.logging")


class Filter(logging.Filter):
    """A filter of `logging` that counts what it refuses."""

    def __init__(self, shed: Shed) -> None:
        super().__init__()
        self._shed = shed

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is not below WARNING."""
        if record.levelno >= logging.WARNING:
            return True
        self._shed.count("log_record")
        return False


class Logs:
    """Adds the filter to OpenTelemetry's handlers, and removes it."""

    def __init__(self, shed: Shed) -> None:
        self._filter = Filter(shed)

    def follow(self, *, is_shed: bool) -> None:
        """Shed such records, or let them pass."""
        for handler in _handlers():
            if is_shed:
                handler.addFilter(self._filter)
            else:
                handler.removeFilter(self._filter)


def _handlers() -> list[logging.Handler]:
    """OpenTelemetry's handlers of all loggers."""
    loggers = [logging.root, *logging.root.manager.loggerDict.copy().values()]
    found = [each for logger in loggers if isinstance(logger, logging.Logger) for each in logger.handlers]
    return [each for each in dict.fromkeys(found) if _is_ours(type(each))]


def _is_ours(kind: type) -> bool:
    return any(each.__name__ == "LoggingHandler" and each.__module__.startswith(_HANDLERS) for each in kind.__mro__)
