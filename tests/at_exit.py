"""What OpenTelemetry alone writes as a program ends."""

from __future__ import annotations

import re

# opentelemetry-instrumentation-logging: `LoggingHandler.flush` starts a thread, which CPython 3.12.1 refuses by then.
_FLUSH = re.compile(
    r"Exception ignored in atexit callback: <function shutdown at .*>\n"
    r"(?:.*\n)*?"
    r"RuntimeError: can't create new thread at interpreter shutdown\n"
)


def without_stocks_lines(stderr):
    """The stderr of a program, without these lines."""
    return _FLUSH.sub("", stderr)
