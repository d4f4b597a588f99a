"""Plans of loggers, which share what rests on their provider."""

from __future__ import annotations

import copy
import logging

import pytest
from newer_releases import disabled_loggers
from opentelemetry._logs import LogRecord
from opentelemetry.instrumentation.logging.handler import LoggingHandler
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter, SimpleLogRecordProcessor

pytestmark = pytest.mark.usefixtures("instrumented")


@pytest.fixture
def provided():
    """A provider with a batch processor, its exporter, and a handler of `logging`."""
    provider, exporter = _logs.LoggerProvider(shutdown_on_exit=False), InMemoryLogRecordExporter()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_queue_size=1 << 16))
    yield provider, exporter, LoggingHandler(logger_provider=provider)
    provider.shutdown()


def emitted(provider, exporter):
    """The name of the logger and the body of each record that was exported."""
    provider.force_flush()
    found = exporter.get_finished_logs()
    exporter.clear()
    return [(each.instrumentation_scope.name, each.log_record.body) for each in found]


def test_each_logger_has_its_own_scope(provided):
    """At the first record, the second and the third, also beyond the number of loggers that are known."""
    provider, exporter, handler = provided
    names = [f"logger.{number}" for number in range(4_200)]

    for text in ("first", "second", "third"):
        for name in names:
            handler.handle(logging.LogRecord(name, logging.INFO, "a.py", 1, text, (), None))
        assert emitted(provider, exporter) == [(name, text) for name in names]


@disabled_loggers
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_method_that_was_set_on_one_logger_is_called(provided, before):
    """Whether the logger has emitted records before, or only others have."""
    provider, exporter, _ = provided
    changed, other = provider.get_logger("changed"), provider.get_logger("other")
    other.emit(body="other")
    for _ in range(before):
        changed.emit(body="before")
    emitted(provider, exporter)

    changed._is_enabled = lambda: False
    changed.emit(body="left out")
    other.emit(body="emitted")

    assert emitted(provider, exporter) == [("other", "emitted")]


def test_a_processor_that_was_added(provided):
    """It gets the records of loggers that are known, and of new ones."""
    provider, exporter, _ = provided
    provider.get_logger("known").emit(body="first")
    later = InMemoryLogRecordExporter()

    provider.add_log_record_processor(SimpleLogRecordProcessor(later))
    provider.get_logger("known").emit(body="second")
    provider.get_logger("new").emit(body="third")

    assert [body for _, body in emitted(provider, exporter)] == ["first", "second", "third"]
    assert [each.log_record.body for each in later.get_finished_logs()] == ["second", "third"]


def test_nothing_stays_on_loggers_and_processors(instrumented, provided):
    """After `uninstrument()`; what is emitted then is stock's, and all again once this package is back."""
    provider, exporter, handler = provided
    logger = provider.get_logger("known")
    root = logger._multi_log_record_processor
    kept = [logger, handler, root, *root._log_record_processors]

    def emit():
        # Where the addresses of a logger and a handler share a place among the sights, one needs more than two.
        for _ in range(6):
            logger.emit(body="direct")
            handler.handle(logging.LogRecord("known", logging.INFO, "a.py", 1, "handled", (), None))

    def on_them():
        return [name for each in kept for name in vars(each) if name.startswith("_otel_fastpath")]

    emit()
    assert len(on_them()) == 4
    instrumented.uninstrument()
    assert on_them() == []
    emit()
    assert on_them() == []
    assert emitted(provider, exporter) == [("known", "direct"), ("known", "handled")] * 12


@disabled_loggers
def test_a_copy_of_a_logger_or_a_handler(provided):
    """It is not taken for the first one: what is set on the copy counts for the copy, and for nothing else."""
    provider, exporter, handler = provided
    logger = provider.get_logger("first")
    for _ in range(3):
        logger.emit(body="before")
        handler.handle(logging.LogRecord("logging", logging.INFO, "a.py", 1, "before", (), None))
    emitted(provider, exporter)

    other, other_handler = copy.copy(logger), copy.copy(handler)
    other._is_enabled = lambda: False
    other_handler._translate = lambda _record: LogRecord(body="translated")
    for _ in range(3):
        other.emit(body="left out")
        logger.emit(body="direct")
        other_handler.handle(logging.LogRecord("logging", logging.INFO, "a.py", 1, "as it is", (), None))
        handler.handle(logging.LogRecord("logging", logging.INFO, "a.py", 1, "handled", (), None))

    bodies = [("first", "direct"), ("logging", "translated"), ("logging", "handled")]
    assert emitted(provider, exporter) == bodies * 3
