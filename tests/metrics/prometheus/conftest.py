"""What the tests of Prometheus's pages share."""

from __future__ import annotations

from contextlib import contextmanager

import prometheus_client
import pytest
from opentelemetry.exporter import prometheus as exporter
from prometheus_client import exposition
from prometheus_client.openmetrics import exposition as openmetrics

PLACES = (
    (exporter._CustomCollector, "_collect_data_points"),
    *((exporter, f"_populate_{kind}_family") for kind in ("counter", "gauge", "histogram")),
    (exposition, "generate_latest"),
    (prometheus_client, "generate_latest"),
    (openmetrics, "generate_latest"),
)
STOCK = [getattr(*place) for place in PLACES]


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


@pytest.fixture
def ours(instrumented, no_faults):
    """The patches are in force, and there must be no fault of theirs."""
    rows = [row for row in instrumented.status() if row.name.startswith("prometheus.")]
    assert [(row.state.value, row.reason) for row in rows] == [("applied", "")] * len(PLACES)
    yield
    assert no_faults.counts() == {}


@pytest.fixture
def as_stock(ours):
    """A context in which stock's functions are in their places."""
    del ours

    @contextmanager
    def use():
        patched = [getattr(*place) for place in PLACES]
        try:
            for (owner, name), function in zip(PLACES, STOCK, strict=True):
                setattr(owner, name, function)
            yield
        finally:
            for (owner, name), function in zip(PLACES, patched, strict=True):
                setattr(owner, name, function)

    return use
