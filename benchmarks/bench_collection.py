"""Collecting metrics: each row of the table as the `bare` and `instrumented` callables of a scenario.

    python benchmarks/bench_collection.py           the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml

There is one reader for each row, which collects on request, and the default exemplar filter. Each of 128 points of an
exponential histogram or of a counter has one new measurement, each of ten gauges has ten observations.
"""

from __future__ import annotations

import sys
from typing import Any

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation
from setups import ways

POINTS = 128
GAUGES = 10
OBSERVED = 10
# In seconds, over three decades.
DURATIONS = (0.001, 0.005, 0.0123, 0.05, 0.2, 1.5)
THREE = {"http.request.method": "GET", "http.route": "/items/{item_id}", "http.response.status_code": 200}
EACH = [{**THREE, "http.route": f"/items/{number}"} for number in range(POINTS)]


class Given:
    """The instruments that the callables of this file use, each with a reader of its own.

    Attributes:
        one: An exponential histogram that is not collected.
    """

    def __init__(self) -> None:
        self.growing, self.counted, self.observing, meters = _reader(), _reader(), _reader(), []
        for reader in (_reader(), self.growing, self.counted, self.observing):
            provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
            meters.append(provider.get_meter("bench"))
        self.one, self.exponential = (each.create_histogram("duration", unit="s") for each in meters[:2])
        self.counter = meters[2].create_counter("requests")
        for number in range(GAUGES):
            meters[3].create_observable_gauge(f"depth{number}", [observe])
        # The scale of each series is found, and attributes that are seen twice are known.
        for _ in range(3):
            for amount in DURATIONS:
                self.one.record(amount, THREE)
                for each in EACH:
                    self.exponential.record(amount, each)
            count_all(self)
            for reader in (self.growing, self.counted, self.observing):
                reader.get_metrics_data()


def _reader() -> InMemoryMetricReader:
    return InMemoryMetricReader(preferred_aggregation={Histogram: ExponentialBucketHistogramAggregation()})


stock, pure, compiled = ways(Given)


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def record(given: Given) -> None:
    """The duration of a request."""
    given.one.record(0.0123, THREE)


def record_all(given: Given) -> None:
    """A measurement for every point of the histogram."""
    for each in EACH:
        given.exponential.record(0.0123, each)


def collect_histogram(given: Given) -> None:
    """The same, and the collection."""
    record_all(given)
    given.growing.get_metrics_data()


def count_all(given: Given) -> None:
    """A measurement for every point of the counter."""
    for each in EACH:
        given.counter.add(1, each)


def collect_counter(given: Given) -> None:
    """The same, and the collection."""
    count_all(given)
    given.counted.get_metrics_data()


def observe(_options: CallbackOptions | None) -> list[Observation]:
    """The callback of a gauge."""
    return [Observation(number, {"queue": number, "host": "localhost"}) for number in range(OBSERVED)]


def observe_all(given: Given) -> None:  # noqa: ARG001  # of a scenario
    """What the callbacks of all gauges do."""
    for _ in range(GAUGES):
        observe(None)


def collect_gauges(given: Given) -> None:
    """The collection, which calls them."""
    given.observing.get_metrics_data()


# Row of the table -> bare and instrumented.
ROWS: dict[str, Any] = {
    "exponential histogram.record": (nothing, record),
    "collect 128 exponential points": (record_all, collect_histogram),
    "collect 128 counter points": (count_all, collect_counter),
    "collect 100 observations": (observe_all, collect_gauges),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Collecting metrics", "bench_collection", ROWS, ("stock", "pure", "compiled")))
