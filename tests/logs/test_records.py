"""Log records on the fast path: what stock loses or raises, and everything that can happen while one is made."""

from __future__ import annotations

import copy
import gc
import logging
import os
import signal
import threading

import opentelemetry.exporter.otlp.proto.http._log_exporter as http_exporter
import opentelemetry.instrumentation.logging.handler as handler_module
import pytest
from newer_releases import disabled_loggers, older
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    LogRecordExporter,
    LogRecordExportResult,
)

from otel_fastpath.otlp.altering import counts

OURS = "otel_fastpath.logs.records.record_class"


class Count(LogRecordExporter):
    """Counts the records by body."""

    def __init__(self):
        self.bodies = []

    def export(self, batch):
        """Keep the bodies."""
        self.bodies += [each.log_record.body for each in batch]
        return LogRecordExportResult.SUCCESS

    def shutdown(self):
        """Nothing is held."""

    def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Setup:
    """A logger with stock's handler and a batch processor."""

    def __init__(self, exporter=None, **batch):
        self.exporter = exporter or InMemoryLogRecordExporter()
        self.provider = _logs.LoggerProvider(shutdown_on_exit=False)
        self.processor = BatchLogRecordProcessor(self.exporter, **{"schedule_delay_millis": 1e7, **batch})
        self.provider.add_log_record_processor(self.processor)
        self.handler = handler_module.LoggingHandler(logger_provider=self.provider)
        self.logger = logging.Logger("test.records")  # noqa: LOG001  # not one of the application
        self.logger.addHandler(self.handler)

    def exported(self):
        """The records so far."""
        self.provider.force_flush()
        return list(self.exporter.get_finished_logs())

    def bodies(self):
        """Their bodies."""
        return [each.log_record.body for each in self.exported()]


@pytest.fixture
def setup(instrumented):  # noqa: ARG001  # the fast path is in place
    """A logger on the fast path."""
    made = Setup()
    yield made
    made.provider.shutdown()


def test_a_message_that_cannot_be_formatted_reaches_handle_error_only(setup, monkeypatch, no_faults):
    """Stock raises it in the application."""

    class Broken:
        def __str__(self):
            raise ValueError("no text")

    failed = []
    monkeypatch.setattr(setup.handler, "handleError", lambda record: failed.append(record.msg))

    setup.logger.info("%d", "x")
    setup.logger.info(Broken())
    setup.logger.info("%s", Broken())
    setup.logger.info("fine")

    assert failed[0] == "%d"
    assert len(failed) == 3
    assert setup.bodies() == ["fine"]
    assert no_faults.counts() == {}


def test_an_error_of_a_processor_reaches_the_application(setup, logged):
    """As with stock; the processors before it have the record."""

    class Raising(_logs.LogRecordProcessor):
        def on_emit(self, log_record):
            raise ValueError(log_record.log_record.body)

        def shutdown(self):
            pass

        def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
            return True

    setup.provider.add_log_record_processor(Raising())

    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            setup.provider.get_logger("direct").emit(body="x")
        with pytest.raises(ValueError, match="y"):
            setup.logger.info("y")

    assert logged() == []
    assert setup.bodies() == ["x", "y", "x", "y"]


def test_a_body_that_changes_later_is_exported_as_it_was(setup):
    """Stock exports the change."""
    body = {"a": [1, {"b": 2}]}
    setup.provider.get_logger("direct").emit(body=body)
    body["a"][1]["b"] = 3
    body["c"] = 4

    assert setup.bodies() == [{"a": [1, {"b": 2}]}]


def test_a_recursive_body_is_no_error(setup):
    """It is altered when it is encoded."""
    body = {}
    body["self"] = body
    setup.provider.get_logger("direct").emit(body=body)

    request = ExportLogsServiceRequest.FromString(http_exporter.encode_logs(setup.exported()).SerializeToString())
    assert len(request.resource_logs[0].scope_logs[0].log_records) == 1


def test_a_record_that_cannot_be_encoded_is_altered_and_the_rest_sent(setup, caplog):
    """Stock loses the batch."""
    counts._counts.clear()
    logger = setup.provider.get_logger("direct")
    for body in ("first", "\ud800", 1 << 70, object(), {"a": {1: "\udfff"}}, "last"):
        logger.emit(body=body)
    logger.emit(body="times", timestamp=-1, event_name=5)

    request = ExportLogsServiceRequest.FromString(http_exporter.encode_logs(setup.exported()).SerializeToString())

    records = request.resource_logs[0].scope_logs[0].log_records
    texts = [each.body.string_value for each in records]
    assert (texts[0], texts[1], texts[2]) == ("first", "?", hex(1 << 70))
    assert texts[3].startswith("<object object")
    assert texts[5:] == ["last", "times"]
    assert records[4].body.kvlist_value.values[0].value.kvlist_value.values[0].value.string_value == "?"
    assert (records[6].time_unix_nano, records[6].event_name) == (0, "5")
    fields = {"body": 4, "timestamp": 1, "event_name": 1}
    assert counts.counts() == {f"altered log_record.{name}": number for name, number in fields.items()}
    assert len([each for each in caplog.records if each.name == counts.__name__]) == len(fields)


def test_what_else_cannot_be_encoded_is_altered(setup):
    """A body that contains itself, an object without a text."""

    class Broken:
        def __str__(self):
            raise ValueError("no text")

    logger = setup.provider.get_logger("direct")
    cyclic = []
    cyclic += [cyclic, cyclic, cyclic]
    logger.emit(body=Broken())
    logger.emit(body=cyclic)
    logger.emit(body="last")

    request = ExportLogsServiceRequest.FromString(http_exporter.encode_logs(setup.exported()).SerializeToString())

    records = request.resource_logs[0].scope_logs[0].log_records
    assert records[0].body.string_value == "<unprintable Broken object>"
    assert len(records[1].body.array_value.values) == 3
    assert records[2].body.string_value == "last"


@pytest.mark.skipif(not hasattr(BoundedAttributes, "__deepcopy__"), reason="in 1.40 no record can be copied")
def test_copies_are_records_of_stock(setup):
    """They share stock's `LogRecord`, which the fast path makes for them."""
    setup.logger.info("x", extra={"a": 1})
    [record] = setup.exported()
    assert type(record).__module__ == OURS
    assert record.bounded_attributes is None

    copied = copy.copy(record)
    assert type(copied) is _logs.ReadableLogRecord
    assert copied.log_record is record.log_record
    assert copy.deepcopy(record).log_record.attributes == {"a": 1}
    assert repr(record).startswith("ReadableLogRecord(log_record=")


def test_an_exporter_may_change_what_it_gets(setup):
    """The encoder writes the changed record."""
    setup.logger.info("x", extra={"a": 1})
    [record] = setup.exported()
    record.log_record.body = "changed"
    record.log_record.attributes["b"] = 2

    request = ExportLogsServiceRequest.FromString(http_exporter.encode_logs([record]).SerializeToString())
    [sent] = request.resource_logs[0].scope_logs[0].log_records
    assert sent.body.string_value == "changed"
    assert [each.key for each in sent.attributes] == ["a", "b"]


def test_a_subclass_that_calls_super_is_as_fast(setup):
    """Its own `emit` runs first."""

    class Own(handler_module.LoggingHandler):
        def emit(self, record):
            record.msg += "!"
            super().emit(record)

    handler = Own(logger_provider=setup.provider)
    handler.handle(logging.LogRecord("n", 20, "f", 1, "x", (), None))

    [record] = setup.exported()
    assert record.log_record.body == "x!"
    assert type(record).__module__ == OURS
    assert record.bounded_attributes is None


@disabled_loggers
def test_a_disabled_logger_emits_nothing(setup):
    """The configuration may change at any time."""
    setup.logger.info("x")
    logger = setup.provider.get_logger("test.records", "")
    logger._set_logger_config(type(logger._logger_config)(is_enabled=False))
    setup.logger.info("y")
    logger._set_logger_config(type(logger._logger_config)(is_enabled=True))
    setup.logger.info("z")

    assert setup.bodies() == ["x", "z"]


def test_a_full_queue_drops_the_oldest(instrumented):  # noqa: ARG001  # the fast path is in place
    """As stock's processor does."""
    setup = Setup(Count(), max_queue_size=4, max_export_batch_size=4)
    release = threading.Event()
    setup.exporter.export = lambda batch: (release.wait(20), setup.exporter.bodies.extend(batch))
    for number in range(20):
        setup.logger.info("%d", number)
    release.set()
    setup.provider.force_flush()
    assert len(setup.exporter.bodies) <= 12
    assert setup.exporter.bodies[-1].log_record.body == "19"
    setup.provider.shutdown()


def test_nothing_is_emitted_after_shutdown(setup):
    """Stock's processor says so."""
    setup.logger.info("x")
    setup.provider.shutdown()
    setup.logger.info("y")
    assert [each.log_record.body for each in setup.exporter.get_finished_logs()] == ["x"]


def test_a_signal_handler_that_logs(setup):
    """In the middle of formatting a message."""

    class Signalling:
        def __str__(self):
            os.kill(os.getpid(), signal.SIGUSR1)
            return "text"

    before = signal.signal(signal.SIGUSR1, lambda *_: other.info("from the signal"))
    other = logging.Logger("other")  # noqa: LOG001  # likewise
    other.addHandler(handler_module.LoggingHandler(logger_provider=setup.provider))
    try:
        setup.logger.info("%s", Signalling())
        setup.logger.info("x")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert setup.bodies()[-2:] == ["text", "x"]


def test_a_finalizer_that_logs(setup):
    """While records are made."""

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            setup.logger.info("finalized")

    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(50):
            Cycle()
            setup.logger.info("x", extra={"a": [1]})
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    bodies = setup.bodies()
    assert bodies.count("x") == 50
    assert bodies.count("finalized") == 50


def test_a_message_of_a_megabyte(setup):
    """Once, not copied for each step."""
    text = "x" * (1 << 20)
    setup.logger.info(text)
    [record] = setup.exported()
    assert record.log_record.body is text
    assert len(http_exporter.encode_logs([record]).SerializeToString()) > 1 << 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_child_exports_its_own(setup):
    """And none of its parent's."""
    setup.logger.info("parent")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            setup.logger.info("child")
            os.write(write, ",".join(setup.bodies()).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"child"
    os.close(read)
    os.close(write)
    assert setup.bodies() == ["parent"]


def _from_threads(count):
    """Log from eight threads; returns the sorted bodies."""
    setup = Setup(Count(), max_queue_size=8 * count, max_export_batch_size=512)

    def log(thread):
        for number in range(count):
            setup.logger.info("%d %d", thread, number, extra={"of": thread})

    threads = [threading.Thread(target=log, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    setup.provider.shutdown()
    return sorted(setup.exporter.bodies)


def test_threads_lose_no_record(instrumented):  # noqa: ARG001  # the fast path is in place
    """Eight of them."""
    assert _from_threads(300) == sorted(f"{thread} {number}" for thread in range(8) for number in range(300))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_threads_lose_none_of_800_000_records(instrumented):  # noqa: ARG001  # likewise
    """The same at full scale."""
    assert len(set(_from_threads(100_000))) == 800_000


@pytest.mark.skipif(not older("opentelemetry-sdk", "1.45"), reason="stock reads the limits once, too")
def test_limits_are_read_once_for_each_logger(instrumented, monkeypatch):  # noqa: ARG001  # the fast path is in place
    """Before 1.45, stock reads them from the environment for each record."""
    monkeypatch.setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", "1")
    setup = Setup()
    # From its second record on, a logger keeps its plan.
    for _ in range(3):
        setup.logger.info("x", extra={"a": 1})
    monkeypatch.delenv("OTEL_ATTRIBUTE_COUNT_LIMIT")
    setup.logger.info("y", extra={"a": 1})

    assert {each.log_record.attributes.maxlen for each in setup.exported()} == {1}
    setup.provider.shutdown()
