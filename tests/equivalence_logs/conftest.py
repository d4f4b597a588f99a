"""Makes `logpairs` importable, and the fast path of logs with each core."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

NAMES = (
    "logs.batch_on_emit",
    "logs.emit",
    "logs.handler_emit",
    "logs.handler_handle",
    "logs.instrumentation_emit",
    "logs.instrumentation_handle",
    "otlp.http_logs",
)


@pytest.fixture
def fast(core, environ):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The fast path in place, with each core in turn."""
    import opentelemetry.exporter.otlp.proto.http._log_exporter
    import opentelemetry.instrumentation.logging.handler
    import opentelemetry.sdk._logs.export  # noqa: F401  # what is patched is there
    from stock_or_fastpath import fastpath

    with fastpath(core, *NAMES, exceptions="off"):
        yield core
