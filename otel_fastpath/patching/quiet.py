"""A logger for use while the host instruments or imports: an exception in a log handler cannot make that fail."""

from __future__ import annotations

import logging
from typing import Any

from otel_fastpath.patching import faults


class Quiet:
    """The logger of this name; its methods suppress exceptions of handlers and filters.

    Args:
        name: The name of the module that logs.
    """

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def log(self, level: int, text: str, *args: Any, **more: Any) -> None:
        """As `logging.Logger.log`."""
        try:
            self._logger.log(level, text, *args, **more)
        except Exception as error:
            faults.raise_interruption(error)

    def warning(self, text: str, *args: Any) -> None:
        """As `logging.Logger.warning`."""
        self.log(logging.WARNING, text, *args)

    def exception(self, text: str, *args: Any) -> None:
        """As `logging.Logger.exception`."""
        self.log(logging.ERROR, text, *args, exc_info=True)
