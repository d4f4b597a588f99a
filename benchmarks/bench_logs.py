"""A log record with an exception, as `logger.exception()` makes one under OpenTelemetry.

    python benchmarks/bench_logs.py                 the table
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'log record*'

The set-ups are `stock` and `fastpath`. The record goes through `Logger.emit` to a processor that drops it; `bare` is
the same record without an exception.
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
    """Replaces a batch processor."""

    def on_emit(self, log_record: Any) -> None:
        """Forget it."""

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Given:
    """The objects that the callables of this file use.

    Attributes:
        logger: A logger of a provider with one processor.
        handler: A handler of the same provider for the standard library's `logging`.
        shallow: An exception that propagated through 5 frames.
        deep: An exception that propagated through 30 frames.
    """

    def __init__(self) -> None:
        provider = _logs.LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(Forget())
        self.logger = provider.get_logger("bench")
        with warnings.catch_warnings():
            # Deprecated in favour of the logging instrumentation's handler, which is the same code in another package.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.handler = _logs.LoggingHandler(logger_provider=provider)
        self.shallow = fallen(SHALLOW)
        self.deep = fallen(DEEP)


def stock() -> Given:
    """Unpatched OpenTelemetry."""
    return Given()


def fastpath() -> Given:
    """OpenTelemetry with our formatting of the stack trace."""
    instrument("c")
    return Given()


def record(given: Given) -> None:
    """Without an exception."""
    _emit(given, None)


def record_shallow(given: Given) -> None:
    """A record with an exception of 5 frames."""
    _emit(given, given.shallow)


def record_deep(given: Given) -> None:
    """A record with an exception of 30 frames."""
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
    """The same record with an exception of 5 frames."""
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
