"""The patches of every room: those of OpenTelemetry's own packages, and of other people's instrumentations.

One module per thing replaced, each exporting PATCHES.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_fastpath.patching.patch import Patch


def all_patches() -> tuple[Patch, ...]:
    """Every patch of this package, in the order in which they are applied."""
    # Loaded when instrumenting, not before.
    from otel_fastpath.logs import patches_stack_traces  # noqa: PLC0415
    from otel_fastpath.metrics import patches_collecting, patches_recording  # noqa: PLC0415
    from otel_fastpath.others import patches_openinference, patches_openllmetry, patches_version_lookups  # noqa: PLC0415
    from otel_fastpath.otlp import patches_http, patches_metrics, patches_spans  # noqa: PLC0415
    from otel_fastpath.trace import patches_current_span, patches_propagation, patches_tracer  # noqa: PLC0415

    return (
        *patches_version_lookups.PATCHES,
        *patches_openllmetry.PATCHES,
        *patches_openinference.PATCHES,
        *patches_current_span.PATCHES,
        *patches_propagation.PATCHES,
        *patches_tracer.PATCHES,
        *patches_recording.PATCHES,
        *patches_collecting.PATCHES,
        *patches_stack_traces.PATCHES,
        *patches_spans.PATCHES,
        *patches_metrics.PATCHES,
        *patches_http.PATCHES,
    )
