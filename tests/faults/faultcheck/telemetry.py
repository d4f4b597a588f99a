"""Where the telemetry of a workload arrives, as plain data that can be counted and compared."""

from __future__ import annotations

from collections import Counter
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from faultcheck.judge import TWICE

# What differs from run to run.
_COUNTED = ("cpython.exceptions", "cpython.exceptions.handled")
_VOLATILE = ("id", "time", "port", "stacktrace", "duration", "traceparent")


class Kept(SpanExporter):
    """Keeps each span that is exported, however often."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def export(self, spans: Any) -> SpanExportResult:
        """Keep them."""
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


class Telemetry:
    """The providers of a workload, and what arrives there.

    Attributes:
        tracer_provider: Has no processor yet.
        meter_provider: With a reader that is asked at the end of each run.
        logger_provider: With an exporter in memory.
        more: Item -> how many, added by workloads that look at telemetry themselves.
    """

    def __init__(self, **settings: Any) -> None:
        self.tracer_provider = TracerProvider(shutdown_on_exit=False, **settings)
        self._reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self._reader], shutdown_on_exit=False)
        self._logs = InMemoryLogRecordExporter()
        self.logger_provider = LoggerProvider(shutdown_on_exit=False)
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self._exporters: list[Kept] = []
        self._totals: Counter[str] = Counter()
        self.more: Counter[str] = Counter()

    def exporter(self) -> Kept:
        """One more exporter of spans."""
        made = Kept()
        self._exporters.append(made)
        return made

    def providers(self) -> dict[str, Any]:
        """For an instrumentor."""
        names = ("tracer_provider", "meter_provider", "logger_provider")
        return {name: getattr(self, name) for name in names}

    def taken(self) -> Counter[str]:
        """How often each item arrived since the last call."""
        found = self.more.copy()
        self.more.clear()
        for number, exporter in enumerate(self._exporters):
            found.update(_of_spans(f"exporter {number}", exporter.spans))
            exporter.spans = []
        totals = totals_of(self._reader.get_metrics_data())
        found.update({name: totals[name] - self._totals[name] for name in totals if totals[name] != self._totals[name]})
        self._totals = totals
        for each in self._logs.get_finished_logs():
            record = each.log_record
            found[f"log record {record.event_name or record.body}"] += 1
            found.update(f"  attribute {name} of a log record" for name in record.attributes or ())
        self._logs.clear()
        return found


def _of_spans(where: str, spans: list[Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    seen: Counter[int] = Counter(span.context.span_id for span in spans)
    for span in spans:
        name = f"span {span.name} in {where}"
        found[name] += 1
        found.update(f"event {event.name} of {name}" for event in span.events)
        found.update(f"link of {name}" for _ in span.links)
        found.update(f"  {_plain(*item)} of {name}" for item in (span.attributes or {}).items())
        found[f"  status {span.status.status_code.name} of {name}"] += 1
        for event in span.events:
            found.update(f"  {_plain(*item)} of {event.name} of {name}" for item in (event.attributes or {}).items())
    found[TWICE] += sum(times - 1 for times in seen.values())
    return +found


def _plain(name: str, value: Any) -> str:
    # The server's message has the query with its comment.
    is_volatile = any(part in name for part in _VOLATILE) or "traceparent=" in str(value)
    return f"attribute {name}" if is_volatile else f"attribute {name}={value!r}"


def totals_of(data: Any) -> Counter[str]:
    """How much was measured in each series: the sum of counters, the number of what a histogram took."""
    found: Counter[str] = Counter()
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                is_gauge = type(metric.data).__name__ == "Gauge"
                # What goes up and down stays up where a step down is lost: that is not measured twice.
                is_level = is_gauge or not getattr(metric.data, "is_monotonic", True)
                for point in metric.data.data_points:
                    # What is injected is an exception as well, and stock handles some of its own.
                    if metric.name in _COUNTED and not str(point.attributes.get("error.type")).endswith("HostError"):
                        continue
                    amount = getattr(point, "count", None)
                    if amount is None:
                        amount = 1 if is_gauge else point.value
                    # Of what is measured inside, where a call of ours was not begun, there is none otherwise.
                    series = ", ".join(sorted(_plain(*item) for item in (point.attributes or {}).items()))
                    found["gauge " * is_level + f"metric {metric.name} with {series}"] += amount
    return found
