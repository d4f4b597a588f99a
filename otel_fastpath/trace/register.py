"""The patches of spans, in the order in which they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.patching.room import Room
from otel_fastpath.trace import patches_current_span, patches_propagation, patches_span, patches_tracer, set_up

if TYPE_CHECKING:
    from otel_fastpath.patching.report import Way


class _Trace(Room):
    def ways(self) -> list[Way]:
        return set_up.ways()


ROOM: Final = _Trace(
    "trace",
    patches=(
        *patches_current_span.PATCHES,
        *patches_propagation.PATCHES,
        *patches_span.PATCHES,
        *patches_tracer.PATCHES,
    ),
)
