"""A service under gunicorn: each worker does its share of the operations, and writes down what it has sent.

    gunicorn --config service.py service:app

The variables are those of OpenTelemetry, and COLLECTOR_TEST, a JSON object: `core` ("" for stock, "c" or "py"),
`operations` (of each worker), `per_second` (likewise) and `reports` (a folder).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

SETTINGS = json.loads(os.environ["COLLECTOR_TEST"])
_TICK = 0.01


def app(_environ: Any, start_response: Any) -> list[bytes]:
    """Answer: the operations are done in the background."""
    start_response("204 No Content", [])
    return []


class Heard(logging.Handler):
    """Counts the messages of OpenTelemetry's loggers by their first words."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.counts[" ".join(str(record.msg).split()[:2])] += 1


def post_fork(_server: Any, worker: Any) -> None:
    """Set telemetry up and start the work, in the worker; gunicorn calls it."""
    threading.Thread(target=_work, args=(worker.age,), daemon=True).start()


def _work(number: int) -> None:
    folder = Path(SETTINGS["reports"])
    try:
        report = _report(number)
    except BaseException as error:  # the harness is told
        report = {"error": repr(error)}
    # Renamed, so that it is there completely or not at all.
    unfinished = folder / f"{number}.unfinished"
    unfinished.write_text(json.dumps(report), encoding="utf-8")
    unfinished.rename(folder / f"{number}.json")


def _report(number: int) -> dict[str, Any]:
    heard = Heard()
    logging.getLogger("opentelemetry").addHandler(heard)
    if SETTINGS["core"]:
        from otel_fastpath import FastpathInstrumentor

        FastpathInstrumentor().instrument(core=SETTINGS["core"])
    providers, own = _telemetry(number)
    from work import SPANS, Work

    begun = time.process_time()
    work, done, start = Work(), 0, time.monotonic()
    while done < SETTINGS["operations"]:
        due = min(SETTINGS["operations"], int((time.monotonic() - start) * SETTINGS["per_second"]) + 1)
        for each in range(done, due):
            work.operation(each)
        done = max(done, due)
        time.sleep(_TICK)
    took = time.monotonic() - start
    for provider in providers:
        provider.force_flush()
    found = _own_counts(own)
    for provider in providers:
        provider.shutdown()
    return {
        "spans": done * SPANS,
        "seconds": took,
        "cpu": time.process_time() - begun,
        "counts": found,
        "heard": dict(heard.counts),
        "patches": _patches(),
    }


def _telemetry(number: int) -> tuple[list[Any], Any]:
    """The global providers, and the reader of the SDK's own metrics, which are kept apart from the service's."""
    from opentelemetry import _logs, metrics, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    own = InMemoryMetricReader()
    given: dict[str, Any] = {"meter_provider": MeterProvider([own], shutdown_on_exit=False)}
    resource = Resource.create({"service.name": "shop", "service.instance.id": f"worker {number}"})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(**given), **given))
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(**given), **given))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource, shutdown_on_exit=False)
    trace.set_tracer_provider(tracers)
    _logs.set_logger_provider(loggers)
    metrics.set_meter_provider(meters)
    return [tracers, loggers, meters], own


def _own_counts(reader: Any) -> dict[str, int]:
    """The SDK's own counters: "otel.sdk.processor.span.processed queue_full" -> how many."""
    found: Counter[str] = Counter()
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
            for point in metric.data.data_points:
                if hasattr(point, "value"):
                    found[f"{metric.name} {point.attributes.get('error.type', '')}".strip()] += point.value
    return dict(found)


def _patches() -> int:
    """How many patches are applied."""
    if not SETTINGS["core"]:
        return 0
    from otel_fastpath import FastpathInstrumentor

    return sum(row.state.value == "applied" for row in FastpathInstrumentor().status())
