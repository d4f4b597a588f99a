"""The patches of the OTLP exporters."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.parts import Part
from otel_fastpath.patching.room import Room

_GRPC: Final = "opentelemetry.exporter.otlp.proto.grpc"
_HTTP: Final = "opentelemetry.exporter.otlp.proto.http"

ROOM: Final = Room(
    "otlp",
    parts=(
        Part("otlp.patches_spans", f"{_GRPC}.trace_exporter", f"{_HTTP}.trace_exporter"),
        Part("otlp.patches_metrics", f"{_GRPC}.metric_exporter", f"{_HTTP}.metric_exporter"),
        Part("otlp.patches_logs", f"{_GRPC}._log_exporter", f"{_HTTP}._log_exporter"),
        Part("otlp.patches_http", "opentelemetry.exporter.http.transport._requests"),
    ),
)
