"""What pyproject.toml declares budgets for: the same work without the hook and with it."""

from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from shop import orders
from shop.telemetry import traced

ITEMS = ["chair", "table", "lamp"]


def telemetry() -> None:
    """Called once in every process that measures: the service's own set-up, with nothing that sends."""
    provider = TracerProvider()
    provider.add_span_processor(SpanProcessor())
    trace.set_tracer_provider(provider)


def nothing() -> None:
    """An empty call."""


def order() -> Any:
    """An order."""
    return orders.place(ITEMS)


traced_nothing = traced(nothing)
traced_place = traced(orders.place)


def traced_order() -> Any:
    """An order, traced."""
    return traced_place(ITEMS)
