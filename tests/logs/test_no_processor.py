"""Log records of a provider without a processor, as with OTEL_LOGS_EXPORTER=none."""

from __future__ import annotations

import logging
import sys

import opentelemetry.instrumentation.logging.handler as handler_module
import pytest
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter


class Setup:
    """A logger with stock's handler, and a provider without a processor."""

    def __init__(self):
        self.provider = _logs.LoggerProvider(shutdown_on_exit=False)
        self.handler = handler_module.LoggingHandler(logger_provider=self.provider)
        self.logger = logging.Logger("test.records")  # noqa: LOG001  # not one of the application
        self.logger.addHandler(self.handler)


@pytest.fixture
def setup(instrumented):  # noqa: ARG001  # the fast path is in place
    """A logger on the fast path."""
    made = Setup()
    yield made
    made.provider.shutdown()


def test_nothing_is_made_of_a_record(setup):
    """Stock's handler makes a `LogRecord`, and its logger a `ReadWriteLogRecord`."""
    called = set()
    setup.logger.info("first")

    sys.setprofile(lambda frame, _event, _argument: called.add(frame.f_code.co_name))
    try:
        setup.logger.info("%s", "plain", extra={"a": 1})
    finally:
        sys.setprofile(None)

    assert "info" in called
    assert called.isdisjoint({"_translate", "on_emit"})


def test_a_message_that_cannot_be_formatted_reaches_handle_error(setup, monkeypatch):
    """As it does with a processor."""
    failed = []
    monkeypatch.setattr(setup.handler, "handleError", lambda record: failed.append(record.msg))

    setup.logger.info("%d", "x")

    assert failed == ["%d"]


def test_a_processor_that_is_added_later_gets_the_records(setup):
    """All after that."""
    exporter = InMemoryLogRecordExporter()
    setup.logger.info("before")
    setup.provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7))
    setup.logger.info("later")
    setup.provider.force_flush()

    assert [each.log_record.body for each in exporter.get_finished_logs()] == ["later"]
