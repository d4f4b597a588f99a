"""The patches of metrics."""

from __future__ import annotations

from typing import Final

from otel_fastpath.metrics import patches_collecting, patches_recording
from otel_fastpath.patching.room import Room

ROOM: Final = Room(
    "metrics",
    patches=(
        *patches_recording.PATCHES,
        *patches_collecting.PATCHES,
    ),
)
