"""The scenarios that pyproject.toml declares budgets for: the same work without and with the hook."""

from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from shop import orders
from shop.telemetry import traced

ITEMS = ["chair", "table", "lamp"]


def telemetry() -> None:
    """Set up the service without exporters; called once in every measuring process."""
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
