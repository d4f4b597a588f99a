"""Providers whose exporters keep the OTLP requests that they would have sent."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import os
import time
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from requests import Response, Session
from requests.adapters import HTTPAdapter

from otel_fastpath.tools.prove.releases import make
from otel_fastpath.tools.prove.requests_seen import RequestReading, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_URL: Final = "http://localhost:9/"
_MESSAGES: Final[dict[str, Any]] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}
# Whoever exports does so when it is flushed.
_NEVER_MS: Final = 3_600_000
_RIGHT: Final = 200
_ENCODINGS: Final[dict[str, Any]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}
# A time is not as long in each run.
_OF_THE_SIZE: Final = frozenset({"content-length"})
_MEASURES: Final = "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED"


class _KeepingAdapter(HTTPAdapter):
    """In the place of a connection: answers each request, and keeps its body.

    Args:
        keep: Called with the body and the headers.
        status: The status of the answers; 0: each request fails.
    """

    def __init__(self, keep: Callable[[bytes, dict[str, str]], None], status: int) -> None:
        super().__init__()
        self._keep = keep
        self._status = status

    def send(self, request: Any, *_args: Any, **_kwargs: Any) -> Response:
        """Keep the body and the headers."""
        self._keep(request.body, dict(request.headers))
        if not self._status:
            # Other errors are followed by another attempt, after a while.
            raise ValueError("a session that fails")
        response = Response()
        response.status_code = self._status
        response.reason = "Words"
        response.raw = io.BytesIO()
        response.request = request
        return response


class _RaisingExporter(SpanExporter):
    """Fails with each span."""

    def export(self, spans: Sequence[Any]) -> Any:
        """Fail."""
        raise ValueError(len(spans))


@dataclass
class KeptTelemetry:
    """The providers of one run.

    Args:
        processors: How spans and log records are exported: each of "batch", "simple" and "memory" has a processor, and
            "raising" has one for spans.
        tracing: Arguments of the tracer provider.
        measuring: Arguments of the meter provider.
        logging: Arguments of the logger provider.
        reader: Arguments of the exporter of metrics.
        is_read_twice: Whether there is another reader, in memory.
        is_measured: Whether the SDK and the exporters measure themselves.
        status: What the back end answers; 0: nothing.
        exporting: Arguments of the exporters.
        queue_size: How many spans and log records wait for their export at most; 0: as usual.
    """

    processors: tuple[str, ...] = ("batch",)
    tracing: dict[str, Any] = field(default_factory=dict)
    measuring: dict[str, Any] = field(default_factory=dict)
    logging: dict[str, Any] = field(default_factory=dict)
    reader: dict[str, Any] = field(default_factory=dict)
    is_read_twice: bool = False
    is_measured: bool = False
    status: int = _RIGHT
    queue_size: int = 0
    exporting: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the providers."""
        with mock.patch.dict(os.environ, {_MEASURES: str(self.is_measured).lower()}):
            self._set_up()

    def _set_up(self) -> None:
        self._began = time.time_ns()
        self._bodies: list[tuple[str, bytes, dict[str, str]]] = []
        self._spans = InMemorySpanExporter()
        self._records = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        resource = Resource({"service.name": "program", "numbers": (1, 2)}, "https://schema")
        self.metric_exporter = exporter = OTLPMetricExporter(
            _URL, session=self._session("metrics"), **self.reader, **self.exporting
        )
        readers: list[Any] = [PeriodicExportingMetricReader(exporter, export_interval_millis=float("inf"))]
        if self.is_read_twice:
            readers.append(InMemoryMetricReader())
        self.meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False, **self.measuring)
        self._measured: dict[str, Any] = {"meter_provider": self.meters} if self.is_measured else {}
        if self.is_measured and hasattr(exporter, "set_meter_provider"):
            exporter.set_meter_provider(self.meters)
        common: dict[str, Any] = {"resource": resource, "shutdown_on_exit": False, **self._measured}
        self.tracers: Any = make(TracerProvider, **common, **self.tracing)
        self.loggers: Any = make(LoggerProvider, **common, **self.logging)
        self._export_locks: list[Any] = []
        for name in self.processors:
            self._process(name)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Export nothing meanwhile, then all: otherwise another thread does so when a batch is full, at any time."""
        with ExitStack() as held:
            for lock in self._export_locks:
                held.enter_context(lock)
            yield
        if self._export_locks:
            self.flush()

    def switch(self, *, is_on: bool) -> None:
        """Turn all tracers, meters and loggers on or off, in the releases that can do so."""
        for provider, name in ((self.tracers, "tracer"), (self.meters, "meter"), (self.loggers, "logger")):
            module = importlib.import_module(type(provider).__module__)
            change = getattr(provider, f"_set_{name}_configurator", None)
            if change is not None:
                kind = "default" if is_on else "disable"
                change(**{f"{name}_configurator": getattr(module, f"_{kind}_{name}_configurator")})

    def _session(self, signal: str) -> Any:
        session = Session()
        session.mount("http://", _KeepingAdapter(lambda *sent: self._bodies.append((signal, *sent)), self.status))
        return session

    def _process(self, name: str) -> None:
        if name == "memory":
            self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
            self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self._records))
            return
        if name == "raising":
            self.tracers.add_span_processor(SimpleSpanProcessor(_RaisingExporter()))
            return
        given: dict[str, Any] = {"endpoint": _URL, **self.exporting, **self._measured}
        spans = make(OTLPSpanExporter, session=self._session("traces"), **given)
        records = make(OTLPLogExporter, session=self._session("logs"), **given)
        kinds: tuple[Any, Any] = (SimpleSpanProcessor, SimpleLogRecordProcessor)
        more = self._measured
        if name == "batch":
            kinds = (BatchSpanProcessor, BatchLogRecordProcessor)
            sizes = dict.fromkeys(("max_queue_size", "max_export_batch_size"), self.queue_size)
            more = {"schedule_delay_millis": _NEVER_MS, **(sizes if self.queue_size else {}), **more}
        made = make(kinds[0], spans, **more), make(kinds[1], records, **more)
        self.tracers.add_span_processor(made[0])
        self.loggers.add_log_record_processor(made[1])
        if self.queue_size:
            self._export_locks += [each._batch_processor._export_lock for each in made]

    def flush(self) -> tuple[Any, ...]:
        """Export everything that is due; return whether each provider has done so."""
        return tuple([each.force_flush() for each in (self.tracers, self.loggers, self.meters)])

    def seen(self, *, is_exact: bool) -> list[Any]:
        """Everything that was exported, after the rest is exported, as plain values; shuts the providers down."""
        failed: list[Any] = []
        for each in (self.tracers, self.loggers, self.meters):
            for call in (each.force_flush, each.shutdown):
                try:
                    call()
                except Exception as error:  # any exception is a result to compare  # noqa: PERF203
                    failed.append(("failed", type(each).__name__, type(error).__name__))
        reading = RequestReading(self._began, time.time_ns(), is_exact)
        # Several threads may export.
        bodies = sorted(self._bodies, key=lambda each: each[0])
        found: list[Any] = [*failed, *((each[0], _read(*each, reading)) for each in bodies)]
        found += [("span in memory", _readable(span)) for span in self._spans.get_finished_spans()]
        found += [("log in memory", _readable(record)) for record in self._records.get_finished_logs()]
        return found


def _read(signal: str, body: bytes, headers: dict[str, str], reading: RequestReading) -> Any:
    told = sorted((name, text) for name, text in headers.items() if name.lower() not in _OF_THE_SIZE)
    try:
        unpack = _ENCODINGS.get(headers.get("Content-Encoding", ""), bytes)
        return told, plain(_MESSAGES[signal].FromString(unpack(body)), reading)
    except Exception:  # protobuf has no types, and its errors no others
        return told, "no message"


def _readable(exported: Any) -> Any:
    """A span or log record as JSON, without the times, which the OTLP request has; the error if it cannot be had."""
    try:
        text = exported.to_json(indent=None)
    except TypeError as error:
        return f"raised {error}", repr(getattr(exported, "attributes", None))
    fields = {name: value for name, value in json.loads(text).items() if not name.endswith(("_time", "timestamp"))}
    for event in fields.get("events", ()):
        event.pop("timestamp", None)
    return json.dumps(fields)
