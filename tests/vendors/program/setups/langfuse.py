"""Langfuse, beside a batch processor of the service's own."""

from __future__ import annotations

from langfuse import Langfuse, observe, propagate_attributes
from setups import plain

client: Langfuse


def set_up(receiver: str) -> None:
    """Langfuse gets every span, not only those of models."""
    global client
    plain.traces(receiver)
    plain.meters(receiver)
    plain.logs(receiver)
    client = Langfuse(
        public_key="pk-lf-0",
        secret_key="sk-lf-0",  # noqa: S106  # no key of anyone's
        base_url=receiver,
        should_export_span=lambda _span: True,
    )


def use() -> None:
    """Langfuse's own API: observations, the decorator, and attributes that are handed down."""

    @observe(name="langfuse: decorated")
    def answer(question: str) -> str:
        with client.start_as_current_observation(name="langfuse: call", as_type="generation", model="gpt") as call:
            call.update(output="yes", usage_details={"input": 3, "output": 1})
        return question.upper()

    with (
        client.start_as_current_observation(name="langfuse: own", input={"a": 1}),
        propagate_attributes(user_id="7", session_id="s"),
    ):
        answer("why")
        client.create_event(name="langfuse: event")


def finish() -> None:
    """Send what is left."""
    client.flush()
    client.shutdown()
    plain.finish()
