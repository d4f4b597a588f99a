"""The same in pytest, for hooks that are easiest to set up with a fixture."""

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider


@pytest.fixture
def span() -> Callable[[], Any]:
    """A call with a span around nothing."""
    provider = TracerProvider()
    provider.add_span_processor(SpanProcessor())
    tracer = provider.get_tracer("tests")

    def call() -> None:
        with tracer.start_as_current_span("order"):
            pass

    return call


@pytest.mark.overhead_budget(calls="<= 80", overhead="5 ref")
def test_a_span_stays_within_its_budget(overhead: Any, span: Callable[[], Any]) -> None:
    """Any callables, sync or async; the test fails if a limit is exceeded."""
    overhead(lambda: None, span)


@pytest.mark.overhead_budget(calls="<= 120")
def test_a_declared_scenario(overhead: Any) -> None:
    """A scenario of pyproject.toml by its name; the marker's limits replace those declared there."""
    overhead("traced")
