"""Pydantic AI's own instrumentation of its agents, with plain providers."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from setups import plain


def set_up(receiver: str) -> None:
    """Agents are instrumented; all signals go to `receiver`."""
    plain.traces(receiver)
    plain.meters(receiver)
    plain.logs(receiver)
    Agent.instrument_all()


def use() -> None:
    """An agent with a tool, whose model answers without a network."""
    agent = Agent(TestModel(seed=1), name="helper", system_prompt="Be kind.")

    @agent.tool_plain
    def price(item: str) -> int:
        return len(item)

    agent.run_sync("What does it cost?")


def finish() -> None:
    """Send what is left."""
    plain.finish()
