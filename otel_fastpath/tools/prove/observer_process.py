"""The process of an observer, seen from the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from otel_fastpath.tools.prove import observer


class ObserverError(Exception):
    """A process of an observer ended before its answer."""


class ObserverProcess:
    """Gives orders to an observer, and returns its answers.

    Args:
        number: See `catalogue.programs`.
        core: The core with which this package is put in place; none for stock.
        accepted: See `Trial`.
    """

    def __init__(self, number: int, core: str = "", accepted: dict[str, str] | None = None) -> None:
        # The settings of the service have nothing to do with what its functions do.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        self._process = subprocess.Popen(  # noqa: S603  # this interpreter
            [sys.executable, "-m", observer.__name__, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environ, "OTEL_FASTPATH_START_LINE": "off"},
            text=True,
            encoding="utf-8",
        )
        self._orders: Any = self._process.stdin
        self._answers: Any = self._process.stdout
        if core:
            self.begin("instrument", core=core, accepted=accepted)
            self.answer()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def begin(self, order: str, **arguments: Any) -> None:
        """Give an order, without waiting for the answer: `order` is the name of a method of `Observer`."""
        try:
            self._orders.write(json.dumps({"order": order, **arguments}) + "\n")
            self._orders.flush()
        except OSError as error:
            raise ObserverError(order) from error

    def answer(self) -> Any:
        """The answer to the order that was given.

        Raises:
            ObserverError: The process ended before.
        """
        line = self._answers.readline()
        if not line:
            raise ObserverError("a process that runs programs has ended; its error stands above")
        return json.loads(line)

    def ask(self, order: str, **arguments: Any) -> Any:
        """Give an order, and return the answer."""
        self.begin(order, **arguments)
        return self.answer()
