"""New Relic's hybrid agent, whose tracers make its own transactions and segments."""

from __future__ import annotations

import newrelic.agent


def set_up(receiver: str) -> None:  # noqa: ARG001  # the variables have it
    """Connect to the collector."""
    newrelic.agent.initialize()
    newrelic.agent.register_application(timeout=20)


def use() -> None:
    """A transaction of the agent's own API, with spans of OpenTelemetry's inside."""
    from opentelemetry import trace

    tracer = trace.get_tracer("vendors.program")
    task = newrelic.agent.BackgroundTask(newrelic.agent.application(), "newrelic: own")
    with task, tracer.start_as_current_span("newrelic: inside", attributes={"a": 1}) as span:
        with newrelic.agent.FunctionTrace("newrelic: function"), tracer.start_as_current_span("newrelic: innermost"):
            trace.get_current_span().set_attribute("b", "c")
        try:
            raise ValueError("recorded")  # noqa: TRY301  # caught on purpose
        except ValueError as error:
            span.record_exception(error)


def finish() -> None:
    """Send what is left."""
    newrelic.agent.shutdown_agent(timeout=20)
