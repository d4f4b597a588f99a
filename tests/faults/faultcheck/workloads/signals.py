"""Propagation, metrics and their collection, log records, counted exceptions."""

from __future__ import annotations

import asyncio
import builtins
import logging
import threading
import warnings
from typing import TYPE_CHECKING, Any

from opentelemetry import baggage, propagate, trace
from opentelemetry import context as context_api
from opentelemetry._logs import LogRecord
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Observation
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.b3 import B3MultiFormat, B3SingleFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.jaeger import JaegerPropagator
from opentelemetry.sdk._logs import LoggingHandler
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, ObservableCounter, UpDownCounter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    HistogramDataPoint,
    InMemoryMetricReader,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramPoints
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import CollectorRegistry, Gauge, exposition
from prometheus_client.openmetrics import exposition as openmetrics

from faultcheck.judge import COLLECTED
from faultcheck.telemetry import totals_of
from faultcheck.workloads.base import Workload, remote_context
from faultcheck.workloads.spans import Spans

if TYPE_CHECKING:
    from faultcheck.host import Host

_HEADER = "00-{:032x}-{:016x}-01"
_PROPAGATORS = {
    "baggage": W3CBaggagePropagator(),
    "B3": B3MultiFormat(),
    "B3, single": B3SingleFormat(),
    "Jaeger": JaegerPropagator(),
    "X-Ray": AwsXRayPropagator(),
    "usual": CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()]),
    "both": CompositePropagator([B3MultiFormat(), JaegerPropagator()]),
}
_DELTA = dict.fromkeys((Counter, UpDownCounter, Histogram, ObservableCounter), AggregationTemporality.DELTA)


class Propagation(Spans):
    """Headers read and written."""

    def run(self, host: Host) -> None:
        """By the propagator itself, and by the global one."""
        for name, module in (("trace context", TraceContextTextMapPropagator()), ("global", propagate)):
            host.step(f"{name}: inject", self._inject, module)
            host.step(f"{name}: nothing to inject", self._inject_nothing, module)
            host.step(f"{name}: extract", self._extract, module, {"traceparent": _HEADER.format(7, 8)})
            host.step(
                f"{name}: state", self._extract, module, {"traceparent": _HEADER.format(7, 8), "tracestate": "a=1"}
            )
            host.step(f"{name}: nothing to extract", self._extract, module, {})
            host.step(f"{name}: not valid", self._extract, module, {"traceparent": "00-zz"})
            host.step(f"{name}: listed", self._extract, module, {"traceparent": [_HEADER.format(7, 8)]})
            host.step(f"{name}: on", self._on, module)
        for name, propagator in _PROPAGATORS.items():
            host.step(f"{name}: there and back", self._carry, propagator)
            host.step(f"{name}: nothing to carry", self._carry_nothing, propagator)

    def _carry(self, propagator: Any) -> Any:
        carrier: dict[str, str] = {}
        with self.tracer.start_as_current_span("carried"):
            propagator.inject(carrier, baggage.set_baggage("size", "1", baggage.set_baggage("user", "ann")))
        found = propagator.extract(carrier)
        remote = trace.get_current_span(found).get_span_context()
        return sorted(carrier), remote.is_remote, remote.trace_flags, dict(baggage.get_all(found))

    @staticmethod
    def _carry_nothing(propagator: Any) -> Any:
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        return carrier, dict(propagator.extract(carrier))

    def _inject(self, module: Any) -> Any:
        carrier: dict[str, str] = {}
        with self.tracer.start_as_current_span("injected") as span:
            module.inject(carrier)
            own = span.get_span_context()
        return carrier == {"traceparent": _HEADER.format(own.trace_id, own.span_id)} or list(carrier)

    def _inject_nothing(self, module: Any) -> Any:
        carrier: dict[str, str] = {}
        module.inject(carrier)
        return carrier

    def _extract(self, module: Any, carrier: Any) -> Any:
        found = trace.get_current_span(module.extract(carrier)).get_span_context()
        return found.trace_id, found.span_id, found.is_remote, found.trace_flags, dict(found.trace_state)

    def _on(self, module: Any) -> Any:
        carrier: dict[str, str] = {}
        parent = module.extract({"traceparent": _HEADER.format(7, 8), "tracestate": "a=1"})
        with self.tracer.start_as_current_span("served", context=parent) as span:
            module.inject(carrier)
            return span.get_span_context().trace_id, carrier.get("tracestate"), len(carrier["traceparent"])


class Scrapes(Workload):
    """Pages of Prometheus, in both formats, and the samples of their families."""

    def begin(self) -> None:
        """A registry with a reader, and with a metric of the client's own."""
        self.registry = CollectorRegistry()
        collector = PrometheusMetricReader(registry=self.registry)._collector
        Gauge("own", "the client's", registry=self.registry).set(1)
        counts, bounds, cumulative = (0, 2, 1), (0.5, 5.0), AggregationTemporality.CUMULATIVE
        labels = [{"number": number, "name": f"a\n{number}", "ratio": 0.5} for number in range(20)]
        timed = [HistogramDataPoint(each, 1, 2, 3, 1.5, counts, bounds, 0, 1) for each in labels]
        counted = [NumberDataPoint(each, 1, 2, 10 ** each["number"]) for each in labels]
        metrics = [
            Metric("duration", "text", "s", HistogramPoints(timed, cumulative)),
            *(Metric(f"requests{way}", None, None, Sum(counted, cumulative, way)) for way in (True, False)),
        ]
        scope = ScopeMetrics(InstrumentationScope("scrapes"), metrics, "")
        data = MetricsData([ResourceMetrics(Resource({"service.name": "scrapes"}), [scope], "")])
        # Not collected: that is the subject of another workload.
        collector._callback = lambda: collector.add_metrics_data(data)

    def run(self, host: Host) -> None:
        """Scrape."""
        host.step("text", self._write, exposition)
        host.step("OpenMetrics", self._write, openmetrics)
        host.step("samples", lambda: [(each.name, each.samples) for each in self.registry.collect()])

    def _write(self, module: Any) -> Any:
        return module.generate_latest(self.registry)


class Metrics(Workload):
    """Measurements with every instrument, bound and not, beside an open span and without one."""

    def begin(self) -> None:
        """The instruments, and some that are bound."""
        self.meter = self.telemetry.meter_provider.get_meter("metrics")
        self.open = self.telemetry.tracer_provider.get_tracer("metrics").start_span("open")
        self._make("known")

    def _make(self, suffix: str) -> Any:
        from otel_fastpath import bind

        meter = self.meter
        self.counter, self.gauge = meter.create_counter(f"counter_{suffix}"), meter.create_gauge(f"gauge_{suffix}")
        self.updown = meter.create_up_down_counter(f"up_down_{suffix}")
        self.histogram = meter.create_histogram(f"histogram_{suffix}")
        self.bound_counter = bind(self.counter, {"bound": True})
        self.bound_histogram = bind(self.histogram, {"bound": True})

    def run(self, host: Host) -> None:
        """Measure."""
        self._measure(host, "")
        token = context_api.attach(trace.set_span_in_context(self.open))
        self._measure(host, " beside a span")
        context_api.detach(token)
        host.step("in a given context", lambda: self.counter.add(2, {"a": 1}, remote_context()))
        host.step("new instruments", self._new)
        host.step("new attributes", self._churn)
        host.step("meters by name", self._by_name)

    def _measure(self, host: Host, where: str) -> None:
        attributes = {"route": "/items", "status": 200, "tags": ("a", "b")}
        host.step(f"counter{where}", self.counter.add, 1, attributes)
        host.step(f"negative{where}", self.counter.add, -1, attributes)
        host.step(f"no attributes{where}", self.counter.add, 1)
        host.step(f"up and down{where}", self.updown.add, 3, attributes)
        host.step(f"histogram{where}", self.histogram.record, 0.5, attributes)
        host.step(f"gauge{where}", self.gauge.set, 7, attributes)
        host.step(f"bound counter{where}", self.bound_counter.add, 1)
        host.step(f"bound histogram{where}", self.bound_histogram.record, 1.5)

    def _by_name(self) -> Any:
        provider = self.telemetry.meter_provider
        meters = [provider.get_meter("by name", "1.0") for _ in range(3)]
        meters[-1].create_counter("by_name").add(1)
        return [each is meters[0] for each in meters]

    def _new(self) -> Any:
        kept = vars(self).copy()
        try:
            self._make("new")
            self.counter.add(1, {"a": 1})
            self.histogram.record(1, {"a": 1})
            self.bound_counter.add(1)
            self.bound_histogram.record(1)
        finally:
            vars(self).update(kept)

    def _churn(self) -> Any:
        for number in range(40):
            self.counter.add(1, {"number": number})


class Collection(Workload):
    """Metrics that are collected, cumulative and as deltas."""

    def prepare(self) -> None:
        """Readers of both kinds, and views."""
        self.readers = [InMemoryMetricReader(), InMemoryMetricReader(preferred_temporality=_DELTA)]
        views = [
            View(instrument_name="narrow", attribute_keys={"route"}),
            View(instrument_name="exponential", aggregation=ExponentialBucketHistogramAggregation()),
        ]
        self.provider = MeterProvider(self.readers, shutdown_on_exit=False, views=views)

    def begin(self) -> None:
        """The instruments."""
        meter = self.provider.get_meter("collection")
        self.tracer = self.telemetry.tracer_provider.get_tracer("collection")
        self.counters = [meter.create_counter(name) for name in ("wide", "narrow")]
        self.histograms = [meter.create_histogram(name) for name in ("plain", "exponential")]
        self.gauge = meter.create_gauge("gauge")
        meter.create_observable_counter("observed", [self._observe])

    def _observe(self, _options: Any) -> Any:
        return [Observation(5, {"a": 1})]

    def run(self, host: Host) -> None:
        """Measure and collect, twice."""
        for turn in range(2):
            host.step(f"measured, {turn}", self._measure, turn)
            for kind, reader in zip(("cumulative", "delta"), self.readers, strict=True):
                host.step(f"{kind}, {turn}", self._collect, reader, f"{kind}, {turn}")

    def _measure(self, turn: int) -> None:
        with self.tracer.start_as_current_span("open"):
            for number in range(3):
                for each in self.counters:
                    each.add(1, {"route": "/a", "number": number})
                for each in self.histograms:
                    each.record(number, {"route": "/a", "number": number})
            self.gauge.set(turn, {"route": "/a"})

    def settle(self) -> None:
        """What was measured and not collected is not the next run's."""
        for reader in self.readers:
            reader.get_metrics_data()

    def _collect(self, reader: Any, name: str) -> None:
        for item, amount in totals_of(reader.get_metrics_data()).items():
            # What was measured before counts in a cumulative one as well: that it is no more is seen all the same.
            self.telemetry.more[f"{item}{COLLECTED}{name}"] += amount


class Logs(Spans):
    """Log records with exceptions."""

    def begin(self) -> None:
        """A handler of stock's, and its logger."""
        super().begin()
        self.emit = self.telemetry.logger_provider.get_logger("logs").emit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            handler = LoggingHandler(logger_provider=self.telemetry.logger_provider)
        self.logger = logging.getLogger("faultcheck.logs")
        self.logger.propagate = False
        self.logger.addHandler(handler)

    def run(self, host: Host) -> None:
        """Log."""
        host.step("plain", self.logger.warning, "it is %s", "plain")
        host.step("with an exception", self._exception, host)
        host.step("in a span", self._in_span)
        host.step("emitted", lambda: self.emit(body="emitted", attributes={"a": 1}))
        nested = {"parts": [{"a": ("b", 1)}, {2: object}]}
        host.step("nested values", lambda: self.emit(body="nested", attributes=nested))
        host.step("emitted with an exception", self._emitted, host)
        host.step("given", self._given, None)
        host.step("given with an exception", self._given, host)
        host.step("loggers by name", self._by_name)

    def _given(self, host: Host | None) -> Any:
        error = None if host is None else host.error()
        record = LogRecord(body="given", attributes={"a": 1}, exception=error)
        self.emit(record)
        return record.attributes

    def _by_name(self) -> Any:
        found = [self.telemetry.logger_provider.get_logger("by name") for _ in range(3)]
        found[0].emit(body="by name")
        return len(set(map(id, found)))

    def _exception(self, host: Host) -> None:
        try:
            raise host.error()  # noqa: TRY301  # the host's own
        except Exception:
            self.logger.exception("it failed")

    def _in_span(self) -> None:
        with self.tracer.start_as_current_span("logged"):
            self.logger.warning("in a span")

    def _emitted(self, host: Host) -> None:
        try:
            raise host.error()  # noqa: TRY301  # the host's own
        except Exception as error:
            self.emit(body="emitted with an exception", exception=error)


class Exceptions(Workload):
    """Exceptions that are counted; with the compiled core by its callback, else by the one in Python."""

    settings = {"exceptions": "handled,code,operations,python"}  # read only

    def begin(self) -> None:
        """A tracer, whose spans are operations."""
        from otel_fastpath import exceptions

        self.telemetry.tracer_provider.add_span_processor(exceptions.ExceptionCountProcessor())
        self.tracer = self.telemetry.tracer_provider.get_tracer("exceptions")

    def run(self, host: Host) -> None:
        """Raise, and collect the counts."""
        host.step("handled", self._handled, host)
        host.step("raised", self._raised, host)
        host.step("in an operation", self._in_operation, host)
        host.step("in a thread", self._in_thread, host)
        host.step("in a task", self._in_task, host)
        host.step("in a group", self._in_group, host)
        host.step("collected", self._collect)

    def _collect(self) -> None:
        # That some of it may be missing is for `lost`: the host does not notice.
        self.telemetry.more.update(totals_of(self.telemetry._reader.get_metrics_data()))

    def _handled(self, host: Host) -> Any:
        error = host.error()
        try:
            raise error  # noqa: TRY301  # the host's own
        except Exception as caught:
            return caught is error

    def _raised(self, host: Host) -> None:
        raise host.error()

    def _in_operation(self, host: Host) -> Any:
        with self.tracer.start_as_current_span("operation", kind=trace.SpanKind.SERVER):
            return self._handled(host)

    def _in_thread(self, host: Host) -> Any:
        kept, threading.excepthook = threading.excepthook, lambda _arguments: None
        try:
            thread = threading.Thread(target=self._raised, args=(host,))
            thread.start()
            thread.join()
        finally:
            threading.excepthook = kept
        return thread.is_alive()

    def _in_task(self, host: Host) -> Any:
        async def main() -> Any:
            async def fail() -> None:
                raise host.error()  # the host's own

            return [type(each).__name__ for each in await asyncio.gather(fail(), return_exceptions=True)]

        return asyncio.run(main())

    def _in_group(self, host: Host) -> Any:
        group = getattr(builtins, "ExceptionGroup", None)
        try:
            raise host.error() if group is None else group("several", [host.error()])  # noqa: TRY301  # likewise
        except Exception as error:
            return type(error).__name__
