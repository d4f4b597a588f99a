"""The patches of log records."""

from __future__ import annotations

from typing import Final

from otel_fastpath.logs import patches_correlation, patches_records, patches_stack_traces
from otel_fastpath.patching.room import Room

ROOM: Final = Room(
    "logs",
    patches=(*patches_stack_traces.PATCHES, *patches_records.PATCHES, *patches_correlation.PATCHES),
)
