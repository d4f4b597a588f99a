"""Respan, which wraps its processor and sets `on_end` on the instance."""

from __future__ import annotations

from respan_tracing import RespanTelemetry
from respan_tracing.decorators import task, workflow
from setups import plain

telemetry: RespanTelemetry


def set_up(receiver: str) -> None:
    """Spans go to Respan, metrics and logs by OTLP to `receiver`."""
    global telemetry
    plain.meters(receiver)
    plain.logs(receiver)
    telemetry = RespanTelemetry(
        app_name="vendors",
        api_key="0",
        base_url=f"{receiver}/api",
        instruments=set(),
        is_auto_instrument=False,
        span_postprocess_callback=lambda _span: None,
    )


def use() -> None:
    """Respan's own decorators, and the program again inside them: it sends no spans but those of a workflow."""
    import work
    from opentelemetry import trace

    @task(name="question")
    def ask(text: str) -> str:
        with trace.get_tracer("vendors.program").start_as_current_span("respan: inside a task"):
            return text.upper()

    @workflow(name="answers")
    def answers() -> str:
        work.run()
        return ask("why")

    answers()


def finish() -> None:
    """Send what is left."""
    telemetry.flush()
    plain.finish()
