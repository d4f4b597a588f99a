"""Binds instruments to their attributes once and records many times: python -m examples.metrics."""

from __future__ import annotations

from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import otel_fastpath
from otel_fastpath import FastpathInstrumentor


def main() -> None:
    """Record, and print what a reader collects."""
    FastpathInstrumentor().instrument()
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
    meter = metrics.get_meter("shop")

    served = otel_fastpath.bind(meter.create_counter("served"), {"route": "/items/{id}", "status": 200})
    took = otel_fastpath.bind(meter.create_histogram("took", unit="s"), {"route": "/items/{id}"})
    for number in range(100):
        served.add(1)
        took.record(number / 1000)

    data = reader.get_metrics_data()
    for metric in data.resource_metrics[0].scope_metrics[0].metrics if data else ():
        for point in metric.data.data_points:
            value = point.value if hasattr(point, "value") else f"{point.count} in {point.sum:.2f} {metric.unit}"
            print(metric.name, dict(point.attributes or {}), value)


if __name__ == "__main__":
    main()
