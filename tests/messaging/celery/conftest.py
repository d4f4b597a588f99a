"""What the tests of Celery's tasks share: applications whose messages are kept, and what was emitted."""

from __future__ import annotations

import itertools
from contextlib import contextmanager, suppress

import pytest
from celery import Celery, signals
from celery.app.trace import build_tracer
from opentelemetry.instrumentation import celery as stock
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.messaging.celery import patches

SIGNALS = (
    signals.task_prerun,
    signals.task_postrun,
    signals.before_task_publish,
    signals.after_task_publish,
    signals.task_failure,
    signals.task_retry,
)


@pytest.fixture
def ours(instrumented, no_faults):
    """The hooks of stock run this package's; there must be no fault, and nothing is left connected."""
    assert state(instrumented) == ("applied", "")
    yield instrumented
    if CeleryInstrumentor().is_instrumented_by_opentelemetry:
        CeleryInstrumentor().uninstrument()
    assert [signal.receivers for signal in SIGNALS] == [[]] * len(SIGNALS)
    assert no_faults.counts() == {}


def state(instrumentor):
    """The patch's."""
    return next((row.state.value, row.reason) for row in instrumentor.status() if row.name == "celery.hooks")


@contextmanager
def stock_hooks():
    """Stock's hooks run their own code meanwhile."""
    patches._diversions.undo()
    try:
        yield
    finally:
        patches.divert()


@contextmanager
def counted_time():
    """A clock that is one second later each time it is read."""
    before = stock.default_timer
    stock.default_timer = map(float, itertools.count()).__next__
    try:
        yield
    finally:
        stock.default_timer = before


class Connection:
    """In the place of a connection to a broker."""

    @contextmanager
    def _reraise_as_library_errors(self):
        yield


class Producer:
    """In the place of kombu's: it keeps messages."""

    connection = Connection()
    auto_declare = False

    def __init__(self):
        self.messages = []

    def publish(self, body, *_args, **given):
        """Keep one."""
        if given.get("routing_key") == "refused":
            raise ConnectionError("the broker's")
        self.messages.append((body, given))


class Tasks:
    """An application, where its messages go, and how a worker runs them."""

    def __init__(self, **settings):
        self.app = Celery("shop", broker="memory://", backend="disabled://", set_as_current=True)
        self.app.conf.update(task_queues=None, **settings)
        self.producer = Producer()
        self._workers = {}

    def worker(self, task):
        """What a worker calls with the messages of a task."""
        return self._workers.setdefault(task.name, build_tracer(task.name, task, app=self.app, hostname="worker"))

    def run(self, task, request, args=(), kwargs=None):
        """Run it as a worker does; what it came to."""
        return self.worker(task)(request["id"], args, kwargs or {}, request)

    def close(self):
        """Leave nothing of it behind."""
        self.app.close()
        with suppress(ValueError):
            self.app.set_default()


def _without_time(value):
    """The value, without the time at which a task is to run."""
    return "time" if isinstance(value, str) and value.startswith("2026-1") else value


class Telemetry:
    """Providers, and what arrived."""

    def __init__(self, is_batched=False, **given):
        self.spans, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False, **given)
        kind = BatchSpanProcessor if is_batched else SimpleSpanProcessor
        self.tracers.add_span_processor(kind(self.spans))
        self.meters = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)

    @contextmanager
    def instrumented(self, **given):
        """Celery is instrumented meanwhile."""
        CeleryInstrumentor().instrument(**{"tracer_provider": self.tracers, "meter_provider": self.meters, **given})
        try:
            yield CeleryInstrumentor()
        finally:
            CeleryInstrumentor().uninstrument()

    def seen(self):
        """The spans without ids and times, their places by id, and the metrics' points."""
        self.tracers.force_flush()
        spans = self.spans.get_finished_spans()
        numbers = {span.context.span_id: number for number, span in enumerate(spans)}
        found = [
            (
                span.name,
                span.kind,
                (span.status.status_code, span.status.description),
                [(key, _without_time(value)) for key, value in span.attributes.items()],
                span.dropped_attributes,
                [(event.name, list(event.attributes.items())) for event in span.events],
                [numbers.get(link.context.span_id, link.context.span_id) for link in span.links],
                span.parent and numbers.get(span.parent.span_id, span.parent.span_id),
            )
            for span in spans
        ]
        data = self.reader.get_metrics_data()
        points = [
            (metric.name, metric.unit, metric.description, scope.scope, list(point.attributes.items()), point.sum)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]
        self.tracers.shutdown()
        return found, numbers, points
