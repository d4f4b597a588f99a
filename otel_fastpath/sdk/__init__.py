"""Patches of OpenTelemetry's own packages: one module per thing replaced, each exporting PATCHES."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_fastpath.patching import Patch


def all_patches() -> tuple[Patch, ...]:
    """Every patch of this package, in the order in which they are applied."""
    # Loaded when instrumenting, not before.
    from otel_fastpath.sdk import (  # noqa: PLC0415
        api_trace,
        collection,
        logs,
        metrics,
        openinference_openai,
        otlp_http,
        otlp_metrics,
        otlp_trace,
        propagation,
        traceloop_openai,
        tracer,
        version_lookups,
    )

    return (
        *version_lookups.PATCHES,
        *traceloop_openai.PATCHES,
        *openinference_openai.PATCHES,
        *api_trace.PATCHES,
        *propagation.PATCHES,
        *tracer.PATCHES,
        *metrics.PATCHES,
        *collection.PATCHES,
        *logs.PATCHES,
        *otlp_trace.PATCHES,
        *otlp_metrics.PATCHES,
        *otlp_http.PATCHES,
    )
