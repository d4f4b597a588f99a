"""The patches of the OTLP exporters."""

from __future__ import annotations

from typing import Final

from otel_fastpath.otlp import patches_http, patches_logs, patches_metrics, patches_spans
from otel_fastpath.patching.room import Room

ROOM: Final = Room(
    "otlp",
    patches=(
        *patches_spans.PATCHES,
        *patches_metrics.PATCHES,
        *patches_logs.PATCHES,
        *patches_http.PATCHES,
    ),
)
