"""Scrapes of Prometheus: each row of the table as the `bare` and `instrumented` callables of a scenario.

    python benchmarks/bench_prometheus.py           the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'scrape*'

A scrape collects and writes a page of 128 points, of each of which there is one new measurement.
"""

from __future__ import annotations

import sys
from typing import Any

from bench_collection import DURATIONS, EACH
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, exposition, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from setups import ways


class Given:
    """A histogram and a counter, each with a reader and a registry of its own."""

    def __init__(self) -> None:
        self.timed, self.counted = CollectorRegistry(), CollectorRegistry()
        timed, counted = (_meter(registry) for registry in (self.timed, self.counted))
        self.histogram = timed.create_histogram("duration", unit="s")
        self.counter = counted.create_counter("requests")
        # Attributes that are seen twice are known.
        for amount in DURATIONS:
            for each in EACH:
                self.histogram.record(amount, each)
            count_all(self)
        for scrape in (scrape_histogram, scrape_counter, scrape_histogram_open, scrape_histogram_name):
            scrape(self)


def _meter(registry: CollectorRegistry) -> Any:
    reader = PrometheusMetricReader(registry=registry)
    return MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("bench")


stock, pure, compiled = ways(Given)


def record_all(given: Given) -> None:
    """A measurement for every point of the histogram."""
    for each in EACH:
        given.histogram.record(0.0123, each)


def scrape_histogram(given: Given) -> None:
    """The same, and a page of text."""
    record_all(given)
    exposition.generate_latest(given.timed)


def scrape_histogram_open(given: Given) -> None:
    """The same, and a page of OpenMetrics."""
    record_all(given)
    openmetrics.generate_latest(given.timed)


def scrape_histogram_name(given: Given) -> None:
    """The same, and a page of text by a function that was imported before."""
    record_all(given)
    generate_latest(given.timed)


def count_all(given: Given) -> None:
    """A measurement for every point of the counter."""
    for each in EACH:
        given.counter.add(1, each)


def scrape_counter(given: Given) -> None:
    """The same, and a page of text."""
    count_all(given)
    exposition.generate_latest(given.counted)


# Row of the table -> bare and instrumented.
ROWS: dict[str, Any] = {
    "scrape of 128 histogram points": (record_all, scrape_histogram),
    "scrape of 128 counter points": (count_all, scrape_counter),
    "scrape as OpenMetrics": (record_all, scrape_histogram_open),
    "scrape, the page written by stock": (record_all, scrape_histogram_name),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Scrapes of Prometheus", "bench_prometheus", ROWS, ("stock", "pure", "compiled")))
