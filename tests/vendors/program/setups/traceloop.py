"""Traceloop, whose processor gets each span's start, and adds the workflow that it is in."""

from __future__ import annotations

from setups import plain
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import task, workflow


def set_up(receiver: str) -> None:
    """Everything goes to `receiver`."""
    Traceloop.init(app_name="vendors", api_endpoint=receiver, api_key="0", instruments=set(), telemetry_enabled=False)
    plain.logs(receiver)


def use() -> None:
    """Traceloop's own decorators."""
    from opentelemetry import trace

    @task(name="question")
    def ask(text: str) -> str:
        trace.get_tracer("vendors.program").start_span("traceloop: inside a task").end()
        return text.upper()

    @workflow(name="answers")
    def answers() -> str:
        Traceloop.set_association_properties({"user": "7"})
        return ask("why")

    answers()


def finish() -> None:
    """Send what is left."""
    plain.finish()
