"""What the tests of suppressed instrumentation share."""

from __future__ import annotations

import pytest
from opentelemetry.instrumentation import utils

NAMES = (
    "suppress_instrumentation",
    "suppress_http_instrumentation",
    "is_instrumentation_enabled",
    "is_http_instrumentation_enabled",
)
STOCK = {name: getattr(utils, name) for name in NAMES}


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


@pytest.fixture
def stock():
    """Stock's functions, by name."""
    return STOCK


@pytest.fixture
def ours(instrumented, no_faults):
    """This package's in their place; there must be no fault."""
    states = {row.name: (row.state.value, row.reason) for row in instrumented.status()}
    assert [states[f"utils.{name}"] for name in NAMES] == [("applied", "")] * 4
    yield {name: getattr(utils, name) for name in NAMES}
    assert no_faults.counts() == {}
