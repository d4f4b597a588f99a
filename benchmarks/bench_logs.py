"""Log records: calls of `logging` with stock's handlers and a batch processor, `Logger.emit`, exceptions.

    python benchmarks/bench_logs.py                 the table
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'log record*'

The set-ups are `stock`, `pure` and `compiled`. For calls of `logging`, `bare` is the same call with a `NullHandler`.
The rows of exceptions have a processor that drops the record; `bare` is the same record without an exception.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from typing import Any

import structlog
from bench_span import fallen, keep_small
from opentelemetry import _logs as api
from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc import _log_exporter as grpc_exporter
from opentelemetry.exporter.otlp.proto.http import _log_exporter as http_exporter
from opentelemetry.instrumentation.logging import LoggingInstrumentor
from opentelemetry.instrumentation.logging.handler import LoggingHandler
from opentelemetry.instrumentation.structlog import StructlogProcessor
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from setups import ATTRIBUTES, instrument, without_turns

SHALLOW, DEEP = 5, 30
FEW, MORE = 10, 11


class Forget(_logs.LogRecordProcessor):
    """Replaces a batch processor."""

    def on_emit(self, log_record: Any) -> None:
        """Forget it."""

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Given:
    """The objects that the callables of this file use.

    Attributes:
        logger: A logger of a provider with one processor that forgets.
        handler: The SDK's handler of the same provider.
        shallow: An exception that propagated through 5 frames.
        deep: An exception that propagated through 30 frames.
        plain: A logger of `logging` with a `NullHandler`.
        logging: One with the instrumentation's handler, and a batch processor whose thread never wakes.
        deprecated: One with the SDK's handler and such a processor.
        unused: One with the instrumentation's handler, and no processor, as with OTEL_LOGS_EXPORTER=none.
        batch: A logger of the SDK with such a processor.
        behind: One with another processor before it.
        structlog: A logger of structlog that discards its events, without and with the instrumentation's processor.
        span: A span context to log in.
        factory: The record factory of the instrumentation.
        records: Records to encode, by their number of attributes.
    """

    def __init__(self) -> None:
        provider = _logs.LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(Forget())
        self.logger = provider.get_logger("bench")
        queued, small = batching()
        behind, other = batching(Forget())
        with warnings.catch_warnings():
            # Deprecated in favour of the logging instrumentation's handler, which is the same code in another package.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.handler = _logs.LoggingHandler(logger_provider=provider)
            self.deprecated = quiet(_logs.LoggingHandler(logger_provider=queued))
        self.shallow = fallen(SHALLOW)
        self.deep = fallen(DEEP)
        self.plain = quiet(logging.NullHandler())
        self.logging = quiet(LoggingHandler(logger_provider=queued))
        self.unused = quiet(LoggingHandler(logger_provider=_logs.LoggerProvider(shutdown_on_exit=False)))
        self.batch = queued.get_logger("bench")
        self.behind = behind.get_logger("bench")
        self.structlog = discarding(), discarding(StructlogProcessor(queued))
        self.span = trace.NonRecordingSpan(trace.SpanContext(1 << 100, 1 << 50, is_remote=False))
        instrumentor = LoggingInstrumentor()
        if not instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.instrument(inject_trace_context=True, enable_log_auto_instrumentation=False)
        self.factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(logging.LogRecord)
        self.records = {count: recorded(count) for count in (0, 7)}
        self.processors = small, other


def quiet(handler: logging.Handler) -> logging.Logger:
    """A logger with this handler only."""
    made = logging.Logger("bench", logging.INFO)  # noqa: LOG001  # not one of the application
    made.addHandler(handler)
    return made


def discarding(*processors: Any) -> Any:
    """A logger of structlog with these processors, at the end of which each event is dropped."""
    levels = structlog.make_filtering_bound_logger(logging.INFO)
    chain = [structlog.processors.add_log_level, *processors, _drop]
    return levels(structlog.ReturnLogger(), chain, {})


def _drop(_logger: Any, _method: str, _event: Any) -> str:
    return ""


def batching(*before: Any) -> tuple[_logs.LoggerProvider, BatchLogRecordProcessor]:
    """A provider with these processors and a batch processor whose thread never wakes."""
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    for each in before:
        provider.add_log_record_processor(each)
    made = BatchLogRecordProcessor(
        InMemoryLogRecordExporter(), max_queue_size=1 << 20, max_export_batch_size=1 << 20, schedule_delay_millis=3.6e6
    )
    keep_small(made)
    provider.add_log_record_processor(made)
    return provider, made


def recorded(count: int) -> list[Any]:
    """Records with so many attributes, as an exporter gets them."""
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    exporter = InMemoryLogRecordExporter()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=3.6e6))
    logger = quiet(LoggingHandler(logger_provider=provider))
    extra = dict(list(ATTRIBUTES.items())[:count])
    for _ in range(MORE):
        logger.info("message", extra=extra)
    provider.shutdown()
    return list(exporter.get_finished_logs())


def stock() -> Given:
    """Unpatched OpenTelemetry."""
    return Given()


def fastpath() -> Given:
    """OpenTelemetry with otel-fastpath."""
    return compiled()


def pure() -> Given:
    """otel-fastpath with the pure core."""
    without_turns()
    instrument("py")
    return Given()


def compiled() -> Given:
    """otel-fastpath with the compiled core."""
    without_turns()
    instrument("c")
    return Given()


THREE = dict(list(ATTRIBUTES.items())[:3])


def plain(given: Given) -> None:
    """A message to the `NullHandler`."""
    given.plain.info("message")


def message(given: Given) -> None:
    """A message to the instrumentation's handler."""
    given.logging.info("message")


def deprecated(given: Given) -> None:
    """A message to the SDK's handler."""
    given.deprecated.info("message")


def unused(given: Given) -> None:
    """A message to the instrumentation's handler, whose provider has no processor."""
    given.unused.info("message")


def plain_3(given: Given) -> None:
    """With three attributes."""
    given.plain.info("message", extra=THREE)


def message_3(given: Given) -> None:
    """With three attributes."""
    given.logging.info("message", extra=THREE)


def plain_7(given: Given) -> None:
    """With seven attributes."""
    given.plain.info("message", extra=ATTRIBUTES)


def message_7(given: Given) -> None:
    """With seven attributes."""
    given.logging.info("message", extra=ATTRIBUTES)


def plain_exception(given: Given) -> None:
    """With an exception of five frames."""
    given.plain.error("message", exc_info=given.shallow)


def message_exception(given: Given) -> None:
    """With an exception of five frames."""
    given.logging.error("message", exc_info=given.shallow)


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def emit_7(given: Given) -> None:
    """A record of the SDK's logger with seven attributes and an event's name."""
    given.batch.emit(body="message", attributes=ATTRIBUTES, event_name="event")


def emit_behind(given: Given) -> None:
    """The same behind a processor of the user's own."""
    given.behind.emit(body="message", attributes=ATTRIBUTES, event_name="event")


def emit_record(given: Given) -> None:
    """A record that the caller made, as the instrumentations of language models do, with seven attributes."""
    given.batch.emit(api.LogRecord(body="message", attributes=ATTRIBUTES, event_name="event"))


def emit_record_to_own(given: Given) -> None:
    """The same to a processor of the user's own."""
    given.logger.emit(api.LogRecord(body="message", attributes=ATTRIBUTES, event_name="event"))


def emit_record_plain(given: Given) -> None:
    """A record that the caller made, without attributes."""
    given.batch.emit(api.LogRecord(body="message"))


def emit_record_plain_to_own(given: Given) -> None:
    """The same to a processor of the user's own."""
    given.logger.emit(api.LogRecord(body="message"))


def event(given: Given) -> None:
    """An event of structlog with three keys."""
    given.structlog[0].info("message", **THREE)


def event_emitted(given: Given) -> None:
    """The same through the instrumentation's processor."""
    given.structlog[1].info("message", **THREE)


def event_exception(given: Given) -> None:
    """An event with an exception of five frames."""
    given.structlog[0].error("message", exc_info=given.shallow)


def event_exception_emitted(given: Given) -> None:
    """The same through the instrumentation's processor."""
    given.structlog[1].error("message", exc_info=given.shallow)


ORDER = {"id": 4711, "customer": "c-12", "items": [{"article": number, "price": number / 4} for number in range(10)]}


def below_lazily(given: Given) -> None:
    """A message below the level, with the object as an argument."""
    given.logging.debug("order %s", ORDER)


def below_eagerly(given: Given) -> None:
    """The same, formatted before the level is looked at."""
    given.logging.debug(f"order {ORDER}")  # noqa: G004  # what is measured


def make(given: Given) -> None:
    """A record of `logging` in a span."""
    with trace.use_span(given.span):
        logging.LogRecord("bench", 20, __file__, 12, "message", (), None, None, None)


def make_correlated(given: Given) -> None:
    """A record with the span's ids."""
    with trace.use_span(given.span):
        given.factory("bench", 20, __file__, 12, "message", (), None, None, None)


def encode_10(given: Given) -> None:
    """Ten records without attributes, as the HTTP exporter encodes them."""
    http_exporter.encode_logs(given.records[0][:FEW]).SerializeToString()


def encode_11(given: Given) -> None:
    """One more."""
    http_exporter.encode_logs(given.records[0]).SerializeToString()


def encode_10_of_7(given: Given) -> None:
    """Ten records with seven attributes."""
    http_exporter.encode_logs(given.records[7][:FEW]).SerializeToString()


def encode_11_of_7(given: Given) -> None:
    """One more."""
    http_exporter.encode_logs(given.records[7]).SerializeToString()


def grpc_10(given: Given) -> None:
    """Ten records, as the message that gRPC sends."""
    grpc_exporter.encode_logs(given.records[7][:FEW]).SerializePartialToString()


def grpc_11(given: Given) -> None:
    """One more."""
    grpc_exporter.encode_logs(given.records[7]).SerializePartialToString()


def record(given: Given) -> None:
    """Without an exception."""
    _emit(given, None)


def record_shallow(given: Given) -> None:
    """A record with an exception of 5 frames."""
    _emit(given, given.shallow)


def record_deep(given: Given) -> None:
    """A record with an exception of 30 frames."""
    _emit(given, given.deep)


def _emit(given: Given, error: BaseException | None) -> None:
    given.logger.emit(
        timestamp=time.time_ns(),
        severity_text="ERROR",
        severity_number=SeverityNumber.ERROR,
        body="it failed",
        attributes={"code.line.number": 12},
        exception=error,
    )


def handle(given: Given) -> None:
    """A record of the standard library's `logging`, without an exception."""
    given.handler.emit(logging.LogRecord("bench", logging.ERROR, __file__, 12, "it failed", (), None))


def handle_shallow(given: Given) -> None:
    """The same record with an exception of 5 frames."""
    error = given.shallow
    exc_info = (type(error), error, error.__traceback__)
    given.handler.emit(logging.LogRecord("bench", logging.ERROR, __file__, 12, "it failed", (), exc_info))


# Row of the table -> bare and instrumented.
ROWS = {
    "logging, a message": (plain, message),
    "logging, 3 attributes": (plain_3, message_3),
    "logging, 7 attributes": (plain_7, message_7),
    "logging, an exception of 5 frames": (plain_exception, message_exception),
    "Logger.emit, 7 attributes": (nothing, emit_7),
    "Logger.emit behind a processor": (nothing, emit_behind),
    "structlog, 3 keys": (event, event_emitted),
    "structlog, an exception of 5 frames": (event_exception, event_exception_emitted),
    'below the level, debug("order %s", order)': (nothing, below_lazily),
    'below the level, debug(f"order {order}")': (nothing, below_eagerly),
    "trace ids in a record": (make, make_correlated),
    "OTLP, one more record": (encode_10, encode_11),
    "OTLP, one more record, 7 attributes": (encode_10_of_7, encode_11_of_7),
    "log record, exception of 5 frames": (record, record_shallow),
    "log record, exception of 30 frames": (record, record_deep),
    "logging, exception of 5 frames": (handle, handle_shallow),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Log records", "bench_logs", ROWS, ("stock", "pure", "compiled")))
