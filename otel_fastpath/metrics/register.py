"""The patches of metrics."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.parts import Part
from otel_fastpath.patching.room import Room

_SDK: Final = "opentelemetry.sdk.metrics"

ROOM: Final = Room(
    "metrics",
    parts=(
        Part("metrics.patches_recording", _SDK),
        Part("metrics.patches_collecting", _SDK),
    ),
)
