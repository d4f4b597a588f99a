"""What an OpenAI instrumentation emits: providers that keep it in memory, and a form in which two runs compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long something took differs from run to run.
TIMES = {
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.client.operation.duration",
    "gen_ai.client.operation.time_to_first_chunk",
    "gen_ai.client.operation.time_per_output_chunk",
}
JSON = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"}
# Where the two are different on purpose: whose scope it is.
OURS = "otel_fastpath"


class Kept:
    """Providers, and what reached them.

    Attributes:
        providers: The keyword arguments of `instrument()`.
    """

    def __init__(self, **options: Any) -> None:
        self._spans, self._logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
        self._reader = InMemoryMetricReader({Histogram: AggregationTemporality.DELTA})
        tracing = TracerProvider(shutdown_on_exit=False, **options)
        tracing.add_span_processor(SimpleSpanProcessor(self._spans))
        logging = LoggerProvider(shutdown_on_exit=False)
        logging.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        metering = MeterProvider([self._reader], shutdown_on_exit=False)
        self.providers = {"tracer_provider": tracing, "meter_provider": metering, "logger_provider": logging}

    @property
    def spans(self) -> list[Any]:
        """The spans that have ended."""
        return list(self._spans.get_finished_spans())

    def series(self) -> dict[str, list[Any]]:
        """Name of a metric -> its data points since the last time."""
        data = self._reader.get_metrics_data()
        found: dict[str, list[Any]] = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found.setdefault(metric.name, []).append((scope.scope, metric))
        return {
            name: [(scope, metric, point) for scope, metric in metrics for point in metric.data.data_points]
            for name, metrics in found.items()
        }

    def seen(self) -> dict[str, Any]:
        """Everything since the last time, as it is compared."""
        spans, logs = self.spans, self._logs.get_finished_logs()
        ids = {span.context.span_id: number for number, span in enumerate(spans)}
        self.clear()
        return {
            "spans": [_span(span, ids) for span in spans],
            "metrics": sorted(_points(self.series()), key=repr),
            "events": [_event(record, ids) for record in logs],
        }

    def clear(self) -> None:
        """Forget spans and events."""
        self._spans.clear()
        self._logs.clear()

    def shut_down(self) -> None:
        """Stop the providers."""
        for provider in self.providers.values():
            provider.shutdown()


def _span(span: Any, ids: dict[int, int]) -> dict[str, Any]:
    return {
        "name": span.name,
        "kind": span.kind.name,
        "status": (span.status.status_code.name, span.status.description),
        "attributes": attributes(span.attributes),
        "events": [(event.name, sorted(event.attributes)) for event in span.events],
        "links": len(span.links),
        "parent": None if span.parent is None else ids.get(span.parent.span_id, "outside"),
        "scope": _scope(span.instrumentation_scope),
    }


def _scope(scope: Any) -> tuple[Any, ...]:
    return scope.name, scope.version, scope.schema_url, tuple((scope.attributes or {}).items())


def attributes(found: Any) -> dict[str, Any]:
    """Attributes, without what took how long; JSON by its value."""
    return {key: _value(key, value) for key, value in sorted((found or {}).items())}


def _value(key: str, value: Any) -> Any:
    if key in TIMES:
        return type(value).__name__
    if key in JSON and isinstance(value, str):
        return json.loads(value)
    return value


def _plain(value: Any) -> Any:
    """Structured values as JSON has them: the SDK makes tuples of lists."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _points(series: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for name, points in series.items():
        for scope, metric, point in points:
            is_time = name in TIMES
            yield {
                "name": name,
                "unit": metric.unit,
                "description": metric.description,
                "attributes": attributes(point.attributes),
                "bounds": tuple(point.explicit_bounds),
                "count": point.count,
                "values": None if is_time else (point.sum, point.min, point.max, tuple(point.bucket_counts)),
                "scope": _scope(scope),
            }


def _event(data: Any, ids: dict[int, int]) -> dict[str, Any]:
    record = data.log_record
    return {
        "name": record.event_name,
        "body": record.body,
        "attributes": {key: _plain(_value(key, value)) for key, value in sorted((record.attributes or {}).items())},
        "severity": record.severity_number and record.severity_number.name,
        "span": ids.get(record.span_id, "outside") if record.span_id else None,
        "scope": _scope(data.instrumentation_scope),
    }


@contextmanager
def stock(kept: Kept, **options: Any) -> Iterator[None]:
    """The stock instrumentation by itself."""
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(**kept.providers, **options, skip_dep_check=True)
    try:
        yield
    finally:
        instrumentor.uninstrument()


@contextmanager
def ours(kept: Kept, *, taken_over: bool = False, **options: Any) -> Iterator[None]:
    """Ours, by itself or where stock's is enabled."""
    from otel_fastpath.instrumentor import FastpathInstrumentor

    instrumentor = FastpathInstrumentor()
    instrumentor.instrument(**({} if taken_over else {"openai": "on", **kept.providers, **options}))
    try:
        if taken_over:
            with stock(kept, **options):
                yield
        else:
            yield
    finally:
        instrumentor.uninstrument()
