"""Scrapes of Prometheus: each row of the table as the `bare` and `instrumented` callables of a scenario.

    python benchmarks/bench_prometheus.py           the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'scrape*'

A scrape collects and writes a page of 128 points, of each of which there is one new measurement. The table has 8:
with 128 of them, stock's part of it takes half an hour under valgrind.
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

FEW = EACH[:8]


class Given:
    """A histogram and a counter, each with a reader and a registry of its own; and the same with few points."""

    def __init__(self) -> None:
        self.few_timed, self.few_counted = CollectorRegistry(), CollectorRegistry()
        self.few_histogram = _meter(self.few_timed).create_histogram("duration", unit="s")
        self.few_counter = _meter(self.few_counted).create_counter("requests")
        self.timed, self.counted = CollectorRegistry(), CollectorRegistry()
        timed, counted = (_meter(registry) for registry in (self.timed, self.counted))
        self.histogram = timed.create_histogram("duration", unit="s")
        self.counter = counted.create_counter("requests")
        # Attributes that are seen twice are known.
        for amount in DURATIONS:
            for each in EACH:
                self.histogram.record(amount, each)
            count_all(self)
            for each in FEW:
                self.few_histogram.record(amount, each)
            count_few(self)
        for scrape in (scrape_histogram, scrape_counter, scrape_histogram_open):
            scrape(self)
        for _bare, scrape in ROWS.values():
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


def count_all(given: Given) -> None:
    """A measurement for every point of the counter."""
    for each in EACH:
        given.counter.add(1, each)


def scrape_counter(given: Given) -> None:
    """The same, and a page of text."""
    count_all(given)
    exposition.generate_latest(given.counted)


def record_few(given: Given) -> None:
    """A measurement for every one of the few points of the histogram."""
    for each in FEW:
        given.few_histogram.record(0.0123, each)


def scrape_few(given: Given) -> None:
    """The same, and a page of text."""
    record_few(given)
    exposition.generate_latest(given.few_timed)


def scrape_few_open(given: Given) -> None:
    """The same, and a page of OpenMetrics."""
    record_few(given)
    openmetrics.generate_latest(given.few_timed)


def scrape_few_name(given: Given) -> None:
    """The same, and a page of text by a function that was imported before."""
    record_few(given)
    generate_latest(given.few_timed)


def count_few(given: Given) -> None:
    """A measurement for every one of the few points of the counter."""
    for each in FEW:
        given.few_counter.add(1, each)


def scrape_few_counters(given: Given) -> None:
    """The same, and a page of text."""
    count_few(given)
    exposition.generate_latest(given.few_counted)


# Row of the table -> bare and instrumented.
ROWS: dict[str, Any] = {
    "scrape of 8 histogram points": (record_few, scrape_few),
    "scrape of 8 counter points": (count_few, scrape_few_counters),
    "scrape of 8 histogram points as OpenMetrics": (record_few, scrape_few_open),
    "scrape of 8 histogram points, the page written by stock": (record_few, scrape_few_name),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Scrapes of Prometheus", "bench_prometheus", ROWS, ("stock", "pure", "compiled")))
