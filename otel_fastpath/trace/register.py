"""The patches of spans, in the order in which they are applied."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.room import Room
from otel_fastpath.trace import patches_current_span, patches_propagation, patches_tracer

ROOM: Final = Room(
    "trace",
    patches=(
        *patches_current_span.PATCHES,
        *patches_propagation.PATCHES,
        *patches_tracer.PATCHES,
    ),
)
