"""The Prometheus exporter: its page is read as Prometheus would, and handed on to the server."""

from __future__ import annotations

import urllib.request

import prometheus_client
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from setups import plain

target = ""


def set_up(receiver: str) -> None:
    """Metrics are on the page, spans and logs go to `receiver`."""
    global target
    target = receiver
    plain.traces(receiver)
    plain.logs(receiver)
    metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()]))


def finish() -> None:
    """Read the page, then send what is left."""
    server, thread = prometheus_client.start_http_server(0, "127.0.0.1")
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=10) as answer:
        page = answer.read()
    server.shutdown()
    thread.join()
    urllib.request.urlopen(f"{target}/page", page, timeout=10).close()  # noqa: S310  # loopback
    plain.finish()
