"""What is seen for the first time, and more of it in turn than is kept: no dearer than stock, which keeps less.

    otel-fastpath budget check --file benchmarks/budgets.toml --only '*seen*'

Each set-up makes what all these scenarios need. `Turns` is ten times as many values as the largest table has of the
kind, in turn; they have been seen before anything is counted.
"""

from __future__ import annotations

import itertools
import logging
from functools import cached_property
from typing import Any

import bench_span
import setups
from opentelemetry import _logs as api_logs
from opentelemetry import metrics, trace
from opentelemetry.instrumentation.logging.handler import LoggingHandler
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

THREE = {"http.request.method": "GET", "http.route": "/items/{item_id}", "http.response.status_code": 200}
# Ten times what `metrics.planner`, `logs.handling` and `trace.planning.tracer_planner` keep at most.
SETS, LOGGERS, TRACERS = 10_300, 40_960, 10_240


class Given:
    """The objects that the callables of this file use; `new` counts what is new."""

    def __init__(self) -> None:
        self.new = itertools.count()
        meters = self.meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
        meter = meters.get_meter("bench")
        self.counter = meter.create_counter("requests")
        self.up_down_counter = meter.create_up_down_counter("active")
        self.histogram = meter.create_histogram("duration", unit="s")
        self.gauge = meter.create_gauge("depth")
        view = View(instrument_name="*", attribute_keys=set(THREE))
        meter = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False, views=[view]).get_meter("bench")
        self.viewed = meter.create_counter("requests")
        self.tracers = bench_span.batching()
        logs = self.logs = _logs.LoggerProvider(shutdown_on_exit=False)
        batch = BatchLogRecordProcessor(
            InMemoryLogRecordExporter(),
            max_queue_size=1 << 20,
            max_export_batch_size=1 << 20,
            schedule_delay_millis=3.6e6,
        )
        bench_span.keep_small(batch)
        logs.add_log_record_processor(batch)
        self.handler = LoggingHandler(logger_provider=logs)

    @cached_property
    def sets_in_turn(self) -> Any:
        """Sets of attributes."""
        return _seen(self.counter.add, [(1, {**THREE, "user": str(number)}) for number in range(SETS)])

    @cached_property
    def viewed_in_turn(self) -> Any:
        """The same with a view that drops the attribute in which they differ."""
        return _seen(self.viewed.add, [(1, {**THREE, "user": str(number)}) for number in range(SETS)])

    @cached_property
    def loggers_in_turn(self) -> Any:
        """Records of different loggers."""
        return _seen(self.handler.handle, [(record(f"in.turn.{number}"),) for number in range(LOGGERS)])

    @cached_property
    def tracers_in_turn(self) -> Any:
        """Tracers that have started a span."""
        made = [(self.tracers.get_tracer(f"in.turn.{number}"),) for number in range(TRACERS)]
        return _seen(start_and_end, made)

    @cached_property
    def names_in_turn(self) -> Any:
        """Names of tracers that were asked for."""
        return _seen(self.tracers.get_tracer, [(f"by.name.{number}",) for number in range(TRACERS)])

    @cached_property
    def logger_names_in_turn(self) -> Any:
        """Names of loggers that were asked for."""
        return _seen(self.logs.get_logger, [(f"by.name.{number}",) for number in range(LOGGERS)])


def _seen(use: Any, values: list[tuple[Any, ...]]) -> Any:
    turns = itertools.cycle(values)
    # Not those that came first are counted: there was room for them.
    for value in itertools.islice(turns, len(values) * 3 // 2):
        use(*value)
    return turns


stock, pure, compiled = setups.ways(Given)


def record(name: str) -> logging.LogRecord:
    """A record of a logger."""
    return logging.LogRecord(name, logging.INFO, __file__, 1, "an order", (), None)


def start_and_end(tracer: Any) -> None:
    """A span."""
    tracer.start_span("order").end()


def new_set(given: Given) -> dict[str, Any]:
    """Attributes that were never seen."""
    return {**THREE, "user": str(next(given.new))}


def counted(given: Given) -> None:
    """A counter, attributes never seen."""
    given.counter.add(1, new_set(given))


def counted_up_and_down(given: Given) -> None:
    """An up-down counter, attributes never seen."""
    given.up_down_counter.add(1, new_set(given))


def recorded(given: Given) -> None:
    """A histogram, attributes never seen."""
    given.histogram.record(0.0123, new_set(given))


def put(given: Given) -> None:
    """A gauge, attributes never seen."""
    given.gauge.set(42, new_set(given))


def counted_twice(given: Given) -> None:
    """A counter, attributes that are seen twice and never again."""
    attributes = new_set(given)
    given.counter.add(1, attributes)
    given.counter.add(1, attributes)


def counted_in_view(given: Given) -> None:
    """A counter, attributes never seen, with a view that drops the one in which they differ."""
    given.viewed.add(1, new_set(given))


def counted_in_turn(given: Given) -> None:
    """A counter, more attributes in turn than are kept; stock has a limit of 2,000."""
    given.counter.add(*next(given.sets_in_turn))


def counted_in_view_in_turn(given: Given) -> None:
    """The same with the view."""
    given.viewed.add(*next(given.viewed_in_turn))


def counted_of_meter(given: Given) -> None:
    """A meter never seen, a counter of it, and an amount."""
    given.meters.get_meter(f"new.{next(given.new)}").create_counter("requests").add(1, THREE)


def logged(given: Given) -> None:
    """The first record of a logger."""
    given.handler.handle(record(f"new.{next(given.new)}"))


def logged_in_turn(given: Given) -> None:
    """A record of one of more loggers in turn than are kept."""
    given.handler.handle(*next(given.loggers_in_turn))


def traced(given: Given) -> None:
    """A tracer never seen, and a span of it."""
    start_and_end(given.tracers.get_tracer(f"new.{next(given.new)}"))


def traced_in_turn(given: Given) -> None:
    """A span of one of more tracers in turn than are kept."""
    start_and_end(*next(given.tracers_in_turn))


def traced_by_a_provider(given: Given) -> None:  # noqa: ARG001  # as all of them
    """A tracer provider, and its first span, as each test of an application has one."""
    provider = TracerProvider(resource=Resource.get_empty(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    start_and_end(provider.get_tracer("bench"))


def counted_by_a_provider(given: Given) -> None:  # noqa: ARG001
    """A meter provider, and its first amount."""
    provider = MeterProvider([InMemoryMetricReader()], Resource.get_empty(), shutdown_on_exit=False)
    provider.get_meter("bench").create_counter("requests").add(1, THREE)


def logged_by_a_provider(given: Given) -> None:  # noqa: ARG001
    """A logger provider, and its first record."""
    provider = _logs.LoggerProvider(Resource.get_empty(), shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(InMemoryLogRecordExporter()))
    LoggingHandler(logger_provider=provider).handle(record("bench"))


def tracer_again(given: Given) -> None:
    """A tracer that is asked for at each call."""
    trace.get_tracer("again", tracer_provider=given.tracers)


def meter_again(given: Given) -> None:
    """A meter that is asked for at each call."""
    metrics.get_meter("again", meter_provider=given.meters)


def logger_again(given: Given) -> None:
    """A logger that is asked for at each call."""
    api_logs.get_logger("again", logger_provider=given.logs)


def logger_again_in_turn(given: Given) -> None:
    """One of many loggers."""
    given.logs.get_logger(*next(given.logger_names_in_turn))


def tracer_again_in_turn(given: Given) -> None:
    """One of more tracers in turn than are found again."""
    given.tracers.get_tracer(*next(given.names_in_turn))


def nothing(given: Given) -> None:
    """The bare call."""
