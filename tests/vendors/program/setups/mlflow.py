"""MLflow with OpenTelemetry's global provider, exporting by OTLP."""

from __future__ import annotations

import mlflow
from opentelemetry import trace
from setups import plain


def set_up(receiver: str) -> None:
    """MLflow makes and sets the global provider with its first span."""
    plain.meters(receiver)
    plain.logs(receiver)
    mlflow.start_span_no_context("mlflow: first").end()


def use() -> None:
    """MLflow's own API, around spans of OpenTelemetry's."""

    @mlflow.trace(name="mlflow: decorated", span_type="LLM")
    def answer(text: str) -> str:
        trace.get_tracer("vendors.program").start_span("mlflow: inside").end()
        return text.upper()

    with mlflow.start_span("mlflow: own", span_type="CHAIN", attributes={"a": {"b": 1}}) as span:
        span.set_inputs({"question": "why"})
        span.set_outputs(answer("why"))


def finish() -> None:
    """Send what is left."""
    mlflow.flush_trace_async_logging()
    plain.finish()
