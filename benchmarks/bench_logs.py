"""A log record with an exception, as `logger.exception()` makes one under OpenTelemetry.

    python benchmarks/bench_logs.py                 the table
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'log record*'

`stock` and `fastpath` are the set-ups. The record goes by `Logger.emit` to a processor that forgets it; `bare` is the
same record without an exception.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from typing import Any

from bench_span import fallen
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk import _logs
from setups import instrument

SHALLOW, DEEP = 5, 30


class Forget(_logs.LogRecordProcessor):
    """Stands where a batch processor does."""

    def on_emit(self, log_record: Any) -> None:
        """Forget it."""

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Given:
    """What the callables of this file work with.

    Attributes:
        logger: Of a provider with one processor.
        handler: For the standard library's `logging`, of the same provider.
        shallow: An exception that went through 5 frames.
        deep: One that went through 30.
    """

    def __init__(self) -> None:
        provider = _logs.LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(Forget())
        self.logger = provider.get_logger("bench")
        with warnings.catch_warnings():
            # Deprecated for the logging instrumentation's, which is the same code in an environment of its own.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.handler = _logs.LoggingHandler(logger_provider=provider)
        self.shallow = fallen(SHALLOW)
        self.deep = fallen(DEEP)


def stock() -> Given:
    """OpenTelemetry as it is."""
    return Given()


def fastpath() -> Given:
    """The stack trace formatted by us."""
    instrument("c")
    return Given()


def record(given: Given) -> None:
    """Without an exception."""
    _emit(given, None)


def record_shallow(given: Given) -> None:
    """An exception of 5 frames."""
    _emit(given, given.shallow)


def record_deep(given: Given) -> None:
    """An exception of 30 frames."""
    _emit(given, given.deep)


def _emit(given: Given, error: BaseException | None) -> None:
    given.logger.emit(
        timestamp=time.time_ns(),
        severity_text="ERROR",
        severity_number=SeverityNumber.ERROR,
        body="it failed",
        attributes={"code.line.number": 12},
        exception=error,
    )


def handle(given: Given) -> None:
    """A record of the standard library's `logging`, without an exception."""
    given.handler.emit(logging.LogRecord("bench", logging.ERROR, __file__, 12, "it failed", (), None))


def handle_shallow(given: Given) -> None:
    """The same with an exception of 5 frames."""
    error = given.shallow
    exc_info = (type(error), error, error.__traceback__)
    given.handler.emit(logging.LogRecord("bench", logging.ERROR, __file__, 12, "it failed", (), exc_info))


# Row of the table -> bare and instrumented.
ROWS = {
    "log record, exception of 5 frames": (record, record_shallow),
    "log record, exception of 30 frames": (record, record_deep),
    "logging, exception of 5 frames": (handle, handle_shallow),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("An exception in a log record", "bench_logs", ROWS, ("stock", "fastpath")))
