"""OpenInference's `dangerously_using_project` with plain providers: it wraps `ReadableSpan.__init__` for a time."""

from __future__ import annotations

from openinference.instrumentation import dangerously_using_project
from opentelemetry import trace
from setups import plain


def set_up(receiver: str) -> None:
    """All signals go to `receiver`."""
    plain.traces(receiver)
    plain.meters(receiver)
    plain.logs(receiver)


def use() -> None:
    """Spans in two projects and after them, by a tracer that was used before."""
    tracer = trace.get_tracer("vendors.program")
    for project in ("one", "two"):
        with dangerously_using_project(project), tracer.start_as_current_span(f"openinference: {project}") as span:
            span.set_attribute("project", project)
            with tracer.start_as_current_span(f"openinference: inside {project}"):
                pass
    with tracer.start_as_current_span("openinference: after the projects"):
        pass


def finish() -> None:
    """Send what is left."""
    plain.finish()
