"""What the hot paths work with, made once: with the package in place, or without it."""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import os
import sqlite3
import sys
import warnings
from pathlib import Path
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import bench_asyncpg

_CHAT = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}
_CHUNK = {
    **_CHAT,
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": None}],
    "usage": None,
}
_BUCKETS = {Histogram: ExponentialBucketHistogramAggregation()}
_DELTA = {Counter: AggregationTemporality.DELTA, Histogram: AggregationTemporality.DELTA}


class _Drop(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002  # stock's name
        return SpanExportResult.SUCCESS


class _Own(SpanProcessor):
    def on_end(self, span: Any) -> None:
        assert span.attributes is not None


class _Server(requests.adapters.BaseAdapter):
    def send(self, request: Any, **_settings: Any) -> Any:
        response = requests.Response()
        response.status_code, response.request, response.raw = 200, request, None
        return response

    def close(self) -> None:
        pass


def _http() -> Any:
    """What openai's client is made on: httpx2, and httpx in releases before 3."""
    name = "httpx2" if importlib.util.find_spec("httpx2") else "httpx"
    return importlib.import_module(name)


def _answer(request: Any) -> Any:
    http = _http()
    body = json.loads(request.content)
    if body["model"] == "gone":
        return http.Response(404, json={"error": {"message": "no"}})
    if not body.get("stream"):
        return http.Response(200, json=_CHAT)
    lines = [f"data: {json.dumps(_CHUNK)}\n\n"] * 3 + ["data: [DONE]\n\n"]
    return http.Response(200, content="".join(lines).encode(), headers={"content-type": "text/event-stream"})


class Given:
    """Providers, instruments, clients.

    Args:
        core: "c" or "py" puts the package in place; empty does not.
    """

    def __init__(self, core: str) -> None:
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"
        bench_asyncpg._stub()
        self._providers: list[TracerProvider | LoggerProvider] = []
        provider = self._provider()
        # Made before there is a wrapper of sqlite3.
        self._plain = sqlite3.connect(":memory:")
        meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
        if core:
            from otel_fastpath import FastpathInstrumentor

            FastpathInstrumentor().instrument(
                core=core,
                telemetry="full",
                exceptions="raised,code",
                tracer_provider=provider,
                meter_provider=meters,
            )
        self.provider = provider
        self.tracer = provider.get_tracer("memory")
        self.dropping = self._provider(sampler=ALWAYS_OFF).get_tracer("memory")
        limits = SpanLimits(max_span_attributes=3, max_events=2, max_links=1, max_span_attribute_length=5)
        self.limited = self._provider(span_limits=limits).get_tracer("memory")
        watched = TracerProvider(shutdown_on_exit=False)
        watched.add_span_processor(_Own())
        self.watched = watched.get_tracer("memory")
        self.remote = set_span_in_context(NonRecordingSpan(SpanContext(7, 8, True, TraceFlags(1))))  # noqa: FBT003
        self._measure(meters)
        self._export()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._logs = InMemoryLogRecordExporter()
            loggers = LoggerProvider(shutdown_on_exit=False)
            loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
            self.logger = logging.getLogger("memory")
            self.logger.propagate = False
            self.logger.addHandler(LoggingHandler(logger_provider=loggers))
        self.asyncpg = bench_asyncpg.Given()

    @functools.cached_property
    def openai(self) -> Any:
        """A client whose requests are answered in the process. Importing it takes a minute under valgrind."""
        import openai

        http = _http()

        transport = http.Client(transport=http.MockTransport(_answer))
        return openai.OpenAI(api_key="sk-test", base_url="http://localhost:9/v1", max_retries=0, http_client=transport)

    @functools.cached_property
    def queued(self) -> LoggerProvider:
        """A provider with a batch processor whose thread never wakes."""
        made = LoggerProvider(shutdown_on_exit=False)
        settings: Any = {"max_queue_size": 1 << 16, "max_export_batch_size": 1 << 16, "schedule_delay_millis": 3.6e6}
        made.add_log_record_processor(BatchLogRecordProcessor(self._logs, **settings))
        self._providers.append(made)
        return made

    @functools.cached_property
    def queueing(self) -> logging.Logger:
        """A logger with the instrumentation's handler and that provider."""
        from opentelemetry.instrumentation.logging.handler import LoggingHandler

        made = logging.Logger("memory", logging.INFO)  # noqa: LOG001  # not one of the application
        made.addHandler(LoggingHandler(logger_provider=self.queued))
        return made

    @functools.cached_property
    def factory(self) -> Any:
        """The record factory of the instrumentation of `logging`."""
        from opentelemetry.instrumentation.logging import LoggingInstrumentor

        LoggingInstrumentor().instrument(inject_trace_context=True, enable_log_auto_instrumentation=False)
        made = logging.getLogRecordFactory()
        logging.setLogRecordFactory(logging.LogRecord)
        return made

    @functools.cached_property
    def structlog(self) -> Any:
        """A logger of structlog with the instrumentation's processor, and without an end."""
        import structlog
        from opentelemetry.instrumentation.structlog import StructlogProcessor

        levels = structlog.make_filtering_bound_logger(logging.INFO)
        chain = [structlog.processors.add_log_level, StructlogProcessor(self.queued), lambda *_event: ""]
        return levels(structlog.ReturnLogger(), chain, {})

    @functools.cached_property
    def dbapi(self) -> Any:
        """A cursor of a connection that only the stock instrumentation of the DB-API knows."""
        from opentelemetry.instrumentation import dbapi

        provider = self._providers[0]
        return dbapi.instrument_connection("memory", self._plain, "sqlite", tracer_provider=provider).cursor()

    def _provider(self, **settings: Any) -> TracerProvider:
        made = TracerProvider(shutdown_on_exit=False, **settings)
        # Exported only when it is asked for: no other thread has anything to do.
        most = {"max_queue_size": 1 << 16, "max_export_batch_size": 1 << 16, "schedule_delay_millis": 3_600_000}
        made.add_span_processor(BatchSpanProcessor(_Drop(), **most))
        self._providers.append(made)
        return made

    def _measure(self, meters: MeterProvider) -> None:
        import otel_fastpath

        self.meters = meters
        self.reader = InMemoryMetricReader()
        meter = MeterProvider([self.reader], shutdown_on_exit=False).get_meter("memory")
        self.counter, self.up_down_counter = meter.create_counter("counter"), meter.create_up_down_counter("up_down")
        self.histogram, self.gauge = meter.create_histogram("histogram"), meter.create_gauge("gauge")
        self.bound_counter = otel_fastpath.bind(self.counter, {"bound": True})
        self.bound_histogram = otel_fastpath.bind(self.histogram, {"bound": True})
        self.delta_reader = InMemoryMetricReader(preferred_temporality=_DELTA)
        deltas = MeterProvider([self.delta_reader], shutdown_on_exit=False).get_meter("memory")
        self.delta_counter, self.delta_histogram = (
            deltas.create_counter("counter"),
            deltas.create_histogram("histogram"),
        )

        self.readers_of_buckets = [
            InMemoryMetricReader(preferred_aggregation=_BUCKETS, preferred_temporality=each) for each in ({}, _DELTA)
        ]
        buckets = MeterProvider(self.readers_of_buckets, shutdown_on_exit=False).get_meter("memory")
        self.exponential = buckets.create_histogram("exponential")
        buckets.create_observable_gauge("observed", [lambda _options: [Observation(1, {"a": 1}), Observation(2)]])

    def _export(self) -> None:
        session = requests.Session()
        session.trust_env = False
        session.mount("http://", _Server())
        self.span_exporter = OTLPSpanExporter("http://localhost:9/v1/traces", session=session)
        self.metric_exporter = OTLPMetricExporter("http://localhost:9/v1/metrics", session=session)
        self.ended: list[Any] = []
        for number in range(10):
            span: Any = self.tracer.start_span("ended", attributes={"number": number, "text": "é", "tags": ["a", "b"]})
            span.add_event("event", {"a": 1})
            span.record_exception(ValueError("recorded"))
            span.end()
            self.ended.append(span)
        for number in range(10):
            self.counter.add(1, {"number": number})
            self.histogram.record(number, {"number": number})
        self.collected: Any = self.reader.get_metrics_data()

    def fail(self, frames: int) -> None:
        """Raise, so many frames below."""
        if frames:
            self.fail(frames - 1)
        raise LookupError("failed")

    def settle(self) -> None:
        """Let go of what was recorded."""
        for each in self._providers:
            each.force_flush()
        self._logs.clear()
