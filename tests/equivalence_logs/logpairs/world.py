"""A provider with handlers and processors, the calls of a program, and what its exporters get."""

from __future__ import annotations

import inspect
import logging
import os
import warnings
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc import _log_exporter as grpc_exporter
from opentelemetry.exporter.otlp.proto.http import _log_exporter
from opentelemetry.instrumentation.logging.handler import LoggingHandler
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.resources import Resource

SPAN = trace.NonRecordingSpan(trace.SpanContext(0xABC << 80, 0xDEF, is_remote=True, trace_flags=trace.TraceFlags(1)))
_OWN = "opentelemetry.sdk._logs", "opentelemetry.attributes"
# Until 1.44, the limits of log records are read from the environment only.
_TAKES_LIMITS = "log_record_limits" in inspect.signature(_logs.LoggerProvider.__init__).parameters
_LIMITS = "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"


class Marking(_logs.LogRecordProcessor):
    """Changes each record, as a processor of a user does."""

    def on_emit(self, log_record):
        """Add an attribute and shout."""
        log_record.log_record.attributes["marked"] = True
        if isinstance(log_record.log_record.body, str):
            log_record.log_record.body = log_record.log_record.body.upper()

    def shutdown(self):
        """Nothing is held."""

    def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Warned(logging.Handler):
    """Keeps the messages of the SDK's loggers."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        """Keep the message."""
        self.lines.append((record.name, record.getMessage()))


@dataclass
class World:
    """One provider.

    Args:
        shape: The names of its processors, in order.
        kind: The handler: "sdk", "instrumentation" or "code".
        limits: The most attributes of a record and the longest text in them, each or both of them None.
        extra: "filter" or "formatter", or "".
    """

    shape: tuple[str, ...]
    kind: str
    limits: Any
    extra: str
    exporters: list[Any] = field(default_factory=list)

    def __post_init__(self):
        """Make the provider."""
        given, self.environment = {}, {}
        if self.limits is not None and _TAKES_LIMITS:
            of_records = dict(
                zip(("max_log_record_attributes", "max_log_record_attribute_length"), self.limits, strict=True)
            )
            given["log_record_limits"] = _logs.LogRecordLimits(**of_records)
        elif self.limits is not None:
            self.environment = {name: str(at) for name, at in zip(_LIMITS, self.limits, strict=True) if at is not None}
        self.provider = _logs.LoggerProvider(Resource({"service.name": "test"}), shutdown_on_exit=False, **given)
        for name in self.shape:
            self.provider.add_log_record_processor(self._processor(name))
        if self.kind == "sdk":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                self.handler = _logs.LoggingHandler(logger_provider=self.provider)
        else:
            self.handler = LoggingHandler(logger_provider=self.provider, log_code_attributes=self.kind == "code")
        if self.extra == "filter":
            self.handler.addFilter(lambda record: record.levelno != logging.WARNING)
        if self.extra == "formatter":
            self.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        self.handler.handleError = lambda record: None  # noqa: ARG005  # the interface

    def _processor(self, name):
        if name == "marking":
            return Marking()
        exporter = InMemoryLogRecordExporter()
        self.exporters.append(exporter)
        if name == "simple":
            return SimpleLogRecordProcessor(exporter)
        return BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7)

    def run(self, program):
        """Make the calls; returns what can be seen of them."""
        warned = Warned()
        loggers = [logging.getLogger(name) for name in _OWN]
        for logger in loggers:
            logger.addHandler(warned)
        with warnings.catch_warnings(record=True) as caught, mock.patch.dict(os.environ, self.environment):
            warnings.simplefilter("always")
            for step in program:
                self._step(step)
        for logger in loggers:
            logger.removeHandler(warned)
        self.provider.force_flush()
        seen = [[seen_record(record) for record in each.get_finished_logs()] for each in self.exporters]
        requests = [request(each.get_finished_logs()) for each in self.exporters]
        self.provider.shutdown()
        return seen, requests, warned.lines, [(type(each.message), str(each.message)) for each in caught]

    def _step(self, step):
        what, in_span, values = step
        token = trace.context_api.attach(trace.set_span_in_context(SPAN)) if in_span else None
        try:
            if what == "log":
                self.handler.handle(std_record(**values))
            elif what == "emit":
                self.provider.get_logger("direct").emit(**values)
            else:
                self.provider.get_logger("direct").emit(LogRecord(**values))
        except Exception:  # noqa: S110  # of stock's: this package lets none through
            pass
        finally:
            if token is not None:
                trace.context_api.detach(token)


def std_record(name, level, msg, args, extra, error):
    """A record of `logging` at a fixed time."""
    exc_info = (type(error), error, error.__traceback__) if error is not None else None
    record = logging.LogRecord(name, level, "file.py", 7, msg, args, exc_info, "function")
    record.created = 1_700_000_000.25
    vars(record).update(extra)
    return record


def seen_record(record):
    """Every field of an exported record but the time at which it was observed."""
    inner = record.log_record
    attributes = inner.attributes
    return (
        isinstance(record, _logs.ReadableLogRecord),
        type(inner),
        inner.timestamp,
        (inner.trace_id, inner.span_id, inner.trace_flags),
        (inner.severity_number, type(inner.severity_number), inner.severity_text),
        (type(inner.body), repr(inner.body)),
        [(key, type(value), repr(value)) for key, value in attributes.items()],
        (type(attributes), attributes.maxlen, attributes.max_value_len, attributes.dropped, record.dropped_attributes),
        (inner.event_name, repr(getattr(inner, "exception", None)), inner.context),
        (record.resource, record.instrumentation_scope, vars(record.limits)),
        sorted(vars(inner)),
    )


def request(records):
    """The OTLP request without the times at which records were observed, or the error."""
    try:
        message = ExportLogsServiceRequest.FromString(_log_exporter.encode_logs(records).SerializeToString())
        assert grpc_exporter.encode_logs(records) == message
    except Exception as error:
        return repr(error)
    for resource in message.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                record.observed_time_unix_nano = 0
    return message.SerializeToString(deterministic=True)


SEVERITIES = [None, SeverityNumber.INFO, SeverityNumber.UNSPECIFIED, SeverityNumber.FATAL4]
