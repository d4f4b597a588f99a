"""The patches of log records."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.patching.feature import Feature

_SDK: Final = "opentelemetry.sdk._logs"
_INSTRUMENTATION: Final = "opentelemetry.instrumentation.logging"
_STRUCTLOG: Final = "opentelemetry.instrumentation.structlog"

FEATURE: Final = Feature(
    "logs",
    parts=(
        Declarations("logs.patches_stack_traces", _SDK, _INSTRUMENTATION, _STRUCTLOG),
        Declarations("logs.patches_records", _SDK, _INSTRUMENTATION),
        Declarations("logs.patches_correlation", _INSTRUMENTATION),
        Declarations("logs.patches_structlog", _STRUCTLOG),
    ),
)
