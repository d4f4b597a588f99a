"""Splunk's distribution with its profiler, whose samples name the span that is active in each thread."""

from __future__ import annotations

import time

from opentelemetry import trace
from setups import plain
from setups.distro import set_up

__all__ = ["finish", "set_up", "use"]


def use() -> None:
    """Spans that last long enough to be found by the profiler."""
    tracer = trace.get_tracer("vendors.program")
    with tracer.start_as_current_span("splunk: profiled"):
        _work(0.4)
        with tracer.start_as_current_span("splunk: profiled, inner"):
            _work(0.4)


def _work(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def finish() -> None:
    """Send what is left."""
    plain.finish()
