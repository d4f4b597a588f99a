"""What a call of an HTTP client emits, with stock's hooks and with ours."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.instrumentation.utils import suppress_http_instrumentation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.util.http import redact_url
from stock_or_fastpath import installations

from otel_fastpath.patching.patch import State


@dataclass
class Call:
    """One call.

    Attributes:
        method: The method.
        url: The URL.
        status: The status of the answer; 0: an exception is raised; negative: with a response of this status.
        headers: The headers of the answer.
        version: The HTTP version of the answer.
        is_suppressed: Whether HTTP instrumentation is suppressed.
        parent: "" for none, "sampled" or "dropped".
    """

    method: str = "GET"
    url: str = "http://localhost:8000/items/3"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    version: str = "HTTP/1.1"
    is_suppressed: bool = False
    parent: str = ""


class World:
    """Providers of one run, and what they have got."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.dropping = TracerProvider(sampler=ParentBasedTraceIdRatio(0), shutdown_on_exit=False)
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)

    @contextmanager
    def around(self, call: Call) -> Any:
        """The surroundings of a call."""
        if call.is_suppressed:
            with suppress_http_instrumentation():
                yield
        elif call.parent:
            provider = self.tracers if call.parent == "sampled" else self.dropping
            with provider.get_tracer("around").start_as_current_span("around"):
                yield
        else:
            yield

    def seen(self) -> Any:
        """Every span and metric point, without what differs from run to run."""
        spans = [
            (
                span.name,
                span.kind,
                list(span.attributes.items()),
                span.status.status_code,
                span.status.description,
                span.parent is not None,
                [(event.name, _without_stack(event.attributes)) for event in span.events],
                span.instrumentation_scope,
            )
            for span in self.exporter.get_finished_spans()
        ]
        points = []
        data = self.reader.get_metrics_data()
        for resource in [] if data is None else data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points += [
                        (scope.scope, metric.name, metric.unit, dict(point.attributes), _counted(metric, point))
                        for point in metric.data.data_points
                    ]
        return spans, points


def told_by_both(outcome: Any) -> Any:
    """What a run of httpx or urllib3 has seen, without what stock's hooks do not tell.

    They record no duration of calls that fail; urllib3's show neither the type of the error, nor secrets redacted.
    """
    outcomes, (spans, points) = outcome
    kept = [
        (name, kind, [(key, _shown(key, value)) for key, value in attributes if not _is_type(key, value)], *rest)
        for name, kind, attributes, *rest in spans
    ]
    answered = [point for point in points if {"http.status_code", "http.response.status_code"} & point[3].keys()]
    return outcomes, (kept, answered)


def _shown(key: str, value: Any) -> Any:
    return redact_url(value) if key in {"http.url", "url.full"} else value


def _is_type(key: str, value: Any) -> bool:
    """Whether an attribute is the type of an exception; that of an answer is its status."""
    return key == "error.type" and not value.isdigit()


def _counted(metric: Any, point: Any) -> Any:
    """How many values a point has; of sizes, their sum, too, which does not depend on the time that a call takes."""
    return point.count if "duration" in metric.name else (point.count, point.sum)


def _without_stack(attributes: Any) -> Any:
    return {key: value for key, value in attributes.items() if key != "exception.stacktrace"}


@contextmanager
def stocks_own_hooks(instrumentor: Any, pattern: str) -> Any:
    """Stock's hooks instead of the patches whose names begin like this; the rest of the fast path stays."""
    ours = [each for name, each in installations(instrumentor).items() if name.startswith(pattern)]
    assert ours
    assert all(each.state is State.APPLIED for each in ours), [each.row() for each in ours]
    for each in reversed(ours):
        each.uninstall()
    try:
        yield
    finally:
        for each in ours:
            each.install(each._settings)
    assert all(each.state is State.APPLIED for each in ours)
