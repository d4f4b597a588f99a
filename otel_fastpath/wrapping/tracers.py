"""Tells `wrapping.starting` which tracers are the SDK's, and how their spans are started."""

from __future__ import annotations

import functools

from otel_fastpath.compiled import hot
from otel_fastpath.trace.context import kept_spans


@functools.cache
def watch() -> None:
    """Tell it now, and whenever that changes; to be called where code that uses `starting` is set up."""
    kept_spans.listen(_watch)


def _watch(starter: kept_spans.TracerPatch) -> None:
    if starter.core:
        starting = hot.wrapping_starting
        starting.watch_tracer(starter.tracer_class, starter.start_span, starter.spans)
