"""Datadog's tracer behind OpenTelemetry's API, which sends to an agent."""

from __future__ import annotations

import ddtrace
from setups import plain


def set_up(receiver: str) -> None:
    """Spans go to the agent, metrics and logs by OTLP to `receiver`."""
    from ddtrace.opentelemetry import TracerProvider
    from opentelemetry.trace import set_tracer_provider

    set_tracer_provider(TracerProvider())
    plain.meters(receiver)
    plain.logs(receiver)


def use() -> None:
    """Datadog's own API, around a span of OpenTelemetry's."""
    from opentelemetry import trace

    with ddtrace.tracer.trace("ddtrace.own", resource="ddtrace: own") as span:
        span.set_tag("a", "b")
        with trace.get_tracer("vendors.program").start_as_current_span("ddtrace: inside"):
            pass


def finish() -> None:
    """Send what is left."""
    ddtrace.tracer.shutdown()
    plain.finish()
