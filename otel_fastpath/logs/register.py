"""The patches of log records."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.parts import Part
from otel_fastpath.patching.room import Room

_SDK: Final = "opentelemetry.sdk._logs"
_INSTRUMENTATION: Final = "opentelemetry.instrumentation.logging"
_STRUCTLOG: Final = "opentelemetry.instrumentation.structlog"

ROOM: Final = Room(
    "logs",
    parts=(
        Part("logs.patches_stack_traces", _SDK, _INSTRUMENTATION, _STRUCTLOG),
        Part("logs.patches_records", _SDK, _INSTRUMENTATION),
        Part("logs.patches_correlation", _INSTRUMENTATION),
        Part("logs.patches_structlog", _STRUCTLOG),
    ),
)
