"""The table of rooms. Deleting a folder, and its name in both places here, deletes the feature.

Loaded when instrumenting, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.exceptions import register as exceptions
from otel_fastpath.libraries import register as libraries
from otel_fastpath.logs import register as logs
from otel_fastpath.metrics import register as metrics
from otel_fastpath.others import register as others
from otel_fastpath.otlp import register as otlp
from otel_fastpath.trace import register as trace

if TYPE_CHECKING:
    from otel_fastpath.patching.room import Room

# In the order in which they are put in place.
ROOMS: Final[tuple[Room, ...]] = (
    others.ROOM,
    trace.ROOM,
    metrics.ROOM,
    logs.ROOM,
    otlp.ROOM,
    libraries.ROOM,
    exceptions.ROOM,
)
