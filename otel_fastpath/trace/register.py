"""The patches of spans, in the order in which they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.patching.feature import Feature
from otel_fastpath.trace import set_up

if TYPE_CHECKING:
    from otel_fastpath.patching.instrumentor_report import TracerStatus


class _Trace(Feature):
    def ways(self) -> list[TracerStatus]:
        return set_up.ways()


FEATURE: Final = _Trace(
    "trace",
    parts=(
        Declarations(
            "trace.context.patches_context", *(f"opentelemetry.{name}" for name in ("baggage", "context", "trace"))
        ),
        Declarations("trace.context.patches_current_span", "opentelemetry.trace"),
        Declarations(
            "trace.propagation.patches_propagation",
            *("opentelemetry.trace", "opentelemetry.baggage.propagation", "opentelemetry.propagators.composite"),
        ),
        Declarations("trace.patches_span", "opentelemetry.sdk.trace"),
        Declarations("trace.patches_tracer", "opentelemetry.sdk.trace"),
    ),
)
