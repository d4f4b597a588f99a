"""Makes `metricpairs` importable and puts the fast path in place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

NAMES = (
    "metrics.counter",
    "metrics.updowncounter",
    "metrics.histogram",
    "metrics.gauge",
    "metrics.collect",
    "metrics.observe",
    "otlp.http_metrics",
)


@pytest.fixture
def fast(core, environ, no_faults):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The fast path in place, with each core in turn; it must not have needed stock because of a fault."""
    import opentelemetry.exporter.otlp.proto.http.metric_exporter
    import opentelemetry.sdk.metrics  # noqa: F401  # what is patched is there
    from stock_or_fastpath import fastpath

    with fastpath(core, *NAMES, exceptions="off"):
        yield core
        assert no_faults.counts() == {}
