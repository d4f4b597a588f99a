"""The life cycle of a measurement: each row of the table as the `bare` and `instrumented` callables of a scenario.

    python benchmarks/bench_metrics.py              the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml

There is one reader, which collects on request, and the default exemplar filter. The costs of collecting and encoding
are those of 128 points of one histogram, each with a new measurement.
"""

from __future__ import annotations

import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc import metric_exporter as grpc_exporter
from opentelemetry.exporter.otlp.proto.http import metric_exporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from setups import ways

import otel_fastpath

POINTS = 128
THREE = {"http.request.method": "GET", "http.route": "/items/{item_id}", "http.response.status_code": 200}
EIGHT = {
    **THREE,
    "url.scheme": "http",
    "server.address": "localhost",
    "server.port": 8000,
    "network.protocol.name": "http",
    "network.protocol.version": "1.1",
}


class Given:
    """The objects that the callables of this file use.

    Attributes:
        span: A sampled span.
        many: A histogram with its bound instruments, one for each point.
        reader: Collects this histogram and nothing else.
        data: The data that the reader collected.
    """

    def __init__(self) -> None:
        meter = MeterProvider(metric_readers=[InMemoryMetricReader()], shutdown_on_exit=False).get_meter("bench")
        self.counter = meter.create_counter("requests")
        self.up_down_counter = meter.create_up_down_counter("active")
        self.histogram = meter.create_histogram("duration", unit="s")
        self.gauge = meter.create_gauge("depth")
        self.bound_counter = otel_fastpath.bind(self.counter, THREE)
        self.bound_histogram = otel_fastpath.bind(self.histogram, THREE)
        self.span = TracerProvider(shutdown_on_exit=False).get_tracer("bench").start_span("sampled")
        self.reader = InMemoryMetricReader()
        points = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False).get_meter("bench")
        self.many = points.create_histogram("duration", unit="s")
        self.each = [{**THREE, "http.route": f"/items/{number}"} for number in range(POINTS)]
        record_all(self)
        self.data: Any = self.reader.get_metrics_data()


stock, pure, compiled = ways(Given)


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def add(given: Given) -> None:
    """One more request."""
    given.counter.add(1, THREE)


def up_and_down(given: Given) -> None:
    """One fewer active request."""
    given.up_down_counter.add(-1, THREE)


def record(given: Given) -> None:
    """The duration of a request."""
    given.histogram.record(0.0123, THREE)


def record_eight(given: Given) -> None:
    """The same with eight attributes."""
    given.histogram.record(0.0123, EIGHT)


def put(given: Given) -> None:
    """The depth of a queue."""
    given.gauge.set(42, THREE)


def add_bound(given: Given) -> None:
    """One more request, with the attributes bound before."""
    given.bound_counter.add(1)


def record_bound(given: Given) -> None:
    """A duration, likewise."""
    given.bound_histogram.record(0.0123)


def in_span(given: Given) -> None:
    """The code around a measurement inside a sampled span."""
    with trace.use_span(given.span, end_on_exit=False):
        pass


def add_in_span(given: Given) -> None:
    """A request counted inside a sampled span."""
    with trace.use_span(given.span, end_on_exit=False):
        given.counter.add(1, THREE)


def record_in_span(given: Given) -> None:
    """A duration, likewise."""
    with trace.use_span(given.span, end_on_exit=False):
        given.histogram.record(0.0123, THREE)


def record_eight_in_span(given: Given) -> None:
    """The same with eight attributes."""
    with trace.use_span(given.span, end_on_exit=False):
        given.histogram.record(0.0123, EIGHT)


def record_bound_in_span(given: Given) -> None:
    """A duration inside a sampled span, with the attributes bound before: what our own wrappers record."""
    with trace.use_span(given.span, end_on_exit=False):
        given.bound_histogram.record(0.0123)


def record_all(given: Given) -> None:
    """A measurement for every point."""
    for each in given.each:
        given.many.record(0.0123, each)


def collect(given: Given) -> None:
    """A measurement for every point, and the collection; bare is `record_all`."""
    record_all(given)
    given.reader.get_metrics_data()


def collect_and_encode(given: Given) -> None:
    """The same, and encoding the request to bytes."""
    record_all(given)
    metric_exporter.encode_metrics(given.reader.get_metrics_data()).SerializeToString()


def encode(given: Given) -> None:
    """Encode a collection of all points to the request's bytes."""
    metric_exporter.encode_metrics(given.data).SerializeToString()


def encode_for_grpc(given: Given) -> None:
    """The same, as the message that gRPC sends."""
    grpc_exporter.encode_metrics(given.data).SerializeToString()


def count(given: Given) -> None:
    """Encode to the request's bytes, and count the points, as the HTTP exporter does."""
    request = metric_exporter.encode_metrics(given.data)
    metric_exporter._count_data_points(request)
    request.SerializeToString()


# Row of the table -> bare and instrumented.
ROWS = {
    "counter.add, 3 attributes": (nothing, add),
    "up_down_counter.add, 3 attributes": (nothing, up_and_down),
    "histogram.record, 3 attributes": (nothing, record),
    "histogram.record, 8 attributes": (nothing, record_eight),
    "gauge.set, 3 attributes": (nothing, put),
    "counter.add, in a sampled span": (in_span, add_in_span),
    "histogram.record, in a sampled span": (in_span, record_in_span),
    "same, 8 attributes": (in_span, record_eight_in_span),
    "bound counter.add": (nothing, add_bound),
    "bound histogram.record": (nothing, record_bound),
    "same, in a sampled span": (in_span, record_bound_in_span),
    "collect 128 histogram points": (record_all, collect),
    "collect and encode 128 histogram points": (record_all, collect_and_encode),
    "encode 128 histogram points": (nothing, encode),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("The life of a measurement", "bench_metrics", ROWS, ("stock", "pure", "compiled")))
