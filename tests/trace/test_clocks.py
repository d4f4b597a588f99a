"""Spans take their times from the clock that stock reads, also if a test has replaced it before the first span."""

from __future__ import annotations

import subprocess
import sys

# As the libraries do that freeze time: the function of `time`, and each module's name for it.
FROZEN = """
import sys, time
from opentelemetry.sdk import trace
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument(core=sys.argv[1])
real = time.time_ns
tracer = trace.TracerProvider().get_tracer("tests")
time.time_ns = trace.time_ns = lambda: 42
span = tracer.start_span("frozen")
span.end()
time.time_ns = trace.time_ns = real
other = tracer.start_span("not frozen")
other.end()
assert (span.start_time, span.end_time) == (42, 42), (span.start_time, span.end_time)
assert abs(other.start_time - real()) < 3600e9
assert other.end_time >= other.start_time
"""


def test_a_clock_that_was_frozen_before_the_first_span(core):
    """Each process reads it for itself: this one has read the real clock before."""
    ran = subprocess.run([sys.executable, "-c", FROZEN, core], capture_output=True, text=True, check=False, timeout=300)

    assert ran.returncode == 0, ran.stderr
