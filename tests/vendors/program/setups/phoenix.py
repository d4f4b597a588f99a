"""Arize Phoenix and OpenInference: a provider whose tracers are proxies, and projects that change spans' resources."""

from __future__ import annotations

from openinference.instrumentation import dangerously_using_project, using_attributes
from opentelemetry import trace
from phoenix.otel import register
from setups import plain

provider: trace.TracerProvider


def set_up(receiver: str) -> None:
    """Spans go to Phoenix in batches, metrics and logs to `receiver` by OpenTelemetry's own exporters."""
    global provider
    provider = register(
        endpoint=f"{receiver}/v1/traces",
        project_name="vendors",
        batch=True,
        protocol="http/protobuf",
        verbose=False,
    )
    plain.meters(receiver)
    plain.logs(receiver)


def use() -> None:
    """OpenInference's own API, and one project after another."""
    tracer = provider.get_tracer("vendors.openinference")

    @tracer.chain
    def chain(question: str) -> str:
        return question.upper()

    with using_attributes(session_id="s", user_id="7", metadata={"a": 1}, tags=["x"]):
        with tracer.start_as_current_span("phoenix: agent", openinference_span_kind="agent") as span:
            span.set_input("question")
            span.set_output({"answer": "yes"})
        chain("why")
    for project in ("one", "two"):
        with dangerously_using_project(project), tracer.start_as_current_span(f"phoenix: project {project}"):
            trace.get_tracer("vendors.program").start_span(f"phoenix: inside project {project}").end()
    tracer.start_span("phoenix: after the projects").end()


def finish() -> None:
    """Send what is left."""
    plain.finish()
