"""The patches of spans, in the order in which they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.patching.parts import Part
from otel_fastpath.patching.room import Room
from otel_fastpath.trace import set_up

if TYPE_CHECKING:
    from otel_fastpath.patching.report import Way


class _Trace(Room):
    def ways(self) -> list[Way]:
        return set_up.ways()


ROOM: Final = _Trace(
    "trace",
    parts=(
        Part("trace.context.patches_current_span", "opentelemetry.trace"),
        Part("trace.context.patches_propagation", "opentelemetry.trace"),
        Part("trace.patches_span", "opentelemetry.sdk.trace"),
        Part("trace.patches_tracer", "opentelemetry.sdk.trace"),
    ),
)
