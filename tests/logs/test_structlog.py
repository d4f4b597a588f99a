"""structlog through the processor of its instrumentation, and loguru through a handler: as with stock's own code."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from opentelemetry import trace
from opentelemetry._logs import NoOpLoggerProvider
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from stock_or_fastpath import fastpath, stock

structlog = pytest.importorskip("structlog")
loguru = pytest.importorskip("loguru")
structlog_of_stock = pytest.importorskip("opentelemetry.instrumentation.structlog")

pytestmark = pytest.mark.filterwarnings("ignore:Log record attributes were dropped")

CONTEXT = trace.SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1))
RECORD_CLASS = "otel_fastpath.logs.records.record_class"


class Text(str):
    """A text of another type."""

    __slots__ = ()


class Broken:
    """An object without a text."""

    def __str__(self):
        """Fails."""
        raise ValueError("no text")

    __repr__ = __str__


try:
    int("x")
except ValueError as error:
    FALLEN = error
# The method of the logger, and the keys of the event.
EVENTS = [
    ("info", {"event": "plain"}),
    ("warning", {"event": "keys", "a": 1, "b": 2.5, "c": "text", "d": True, "e": None, "f": b"\xff"}),
    ("warn", {"event": "values", "a": [1, 2], "b": ["x", 3], "c": {"d": {"e": 1}}, "f": Text("x"), "g": (1.5,)}),
    ("error", {"event": "an exception", "exc_info": FALLEN}),
    ("error", {"event": "its parts", "exc_info": (type(FALLEN), FALLEN, FALLEN.__traceback__)}),
    ("error", {"event": "none", "exc_info": True}),
    ("error", {"event": "false", "exc_info": False}),
    ("error", {"event": "rendered", "exception": "Traceback ...", "exc_info": None}),
    ("error", {"event": "rendered, no text", "exception": 7}),
    ("critical", {"event": "a level", "level": "debug"}),
    ("fatal", {"event": "a level of capitals", "level": "Warning"}),
    ("info", {"event": "an unknown level", "level": "notice"}),
    ("info", {"event": "an empty level", "level": ""}),
    ("info", {"event": "no text as level", "level": 30}),
    ("notice", {"event": "an unknown method"}),
    ("debug", {"event": "seconds", "timestamp": 1_700_000_000.5}),
    ("debug", {"event": "text", "timestamp": "2024-05-06T07:08:09.123456Z"}),
    ("debug", {"event": "local time", "timestamp": "2024-05-06 07:08"}),
    ("info", {"event": {"a": [1, {"b": 2}]}, "_record": 1, "_logger": 2, "_name": 3}),
    ("info", {}),
    ("info", {"event": "x" * 1_000_000, "key": "y" * 1_000_000}),
    ("info", {"event": "many", **{f"key {number}": number for number in range(130)}}),
    ("info", {"event": "an object", "a": Broken}),
]


# A logger that has a name.
NAMED = SimpleNamespace(name="shop")


def records_of(events, *, before=None, processor=None, loggers=(None, NAMED)):
    """What is exported of these events, without the times at which they were seen."""
    exporter = InMemoryLogRecordExporter()
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    if before is not None:
        provider.add_log_record_processor(before)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7))
    made = (processor or structlog_of_stock.StructlogProcessor)(logger_provider=provider)
    for logger in loggers:
        for method, event in events:
            assert made(logger, method, event) is event
            with trace.use_span(trace.NonRecordingSpan(CONTEXT)):
                made(logger, method, dict(event))
    provider.shutdown()
    return exporter.get_finished_logs()


def seen(records):
    """What is compared of records."""
    ids = ("trace_id", "span_id", "trace_flags")
    fields = ("timestamp", *ids, "severity_text", "severity_number", "body", "event_name")
    return [
        (
            [getattr(each.log_record, name) for name in fields],
            list((each.log_record.attributes or {}).items()),
            each.instrumentation_scope.name,
        )
        for each in records
    ]


@pytest.fixture
def fast(core, environ):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The fast path in place, with each core in turn."""
    with fastpath(core, "logs.structlog", "logs.structlog_exception", exceptions="off"):
        yield core


@pytest.mark.proves("logs.structlog", "logs.structlog_exception")
@pytest.mark.usefixtures("fast", "no_faults")
def test_records_are_as_in_stock():
    """Events of every kind, inside and outside of a span, of loggers with and without a name."""
    ours = records_of(EVENTS)
    with stock():
        expected = records_of(EVENTS)

    assert seen(ours) == seen(expected)
    assert len(ours) == len(EVENTS) * 4
    assert {type(each).__module__ for each in ours} == {RECORD_CLASS}


@pytest.mark.usefixtures("fast", "no_faults")
def test_another_processor_sees_the_same():
    """Before the batch processor."""

    class Note:
        def __init__(self):
            self.seen = []

        def on_emit(self, log_record):
            self.seen.append((log_record.log_record.body, log_record.log_record.context is not None))

        def shutdown(self):
            """Nothing is held."""

        def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
            return True

    ours, expected = Note(), Note()
    records_of(EVENTS, before=ours)
    with stock():
        records_of(EVENTS, before=expected)

    assert ours.seen == expected.seen
    assert len(ours.seen) == len(EVENTS) * 4


@pytest.mark.usefixtures("fast", "no_faults")
def test_a_subclass_and_a_patch_are_called(monkeypatch):
    """Of another vendor, after ours."""

    class Loud(structlog_of_stock.StructlogProcessor):
        def _translate(self, event_dict, method_name=None):
            return super()._translate({**event_dict, "event": "loud"}, method_name)

    assert {each.log_record.body for each in records_of(EVENTS[:3], processor=Loud)} == {"loud"}

    attributes = structlog_of_stock.StructlogProcessor._get_attributes
    monkeypatch.setattr(
        structlog_of_stock.StructlogProcessor,
        "_get_attributes",
        staticmethod(lambda event: {**attributes(event), "patched": 1}),
    )
    assert all(each.log_record.attributes["patched"] == 1 for each in records_of(EVENTS[:3]))


@pytest.mark.usefixtures("fast", "no_faults")
def test_the_loggers_of_another_provider():
    """A processor may be given one, and what is kept does not grow without end."""
    first, second = InMemoryLogRecordExporter(), InMemoryLogRecordExporter()
    processor = structlog_of_stock.StructlogProcessor(logger_provider=_logs.LoggerProvider(shutdown_on_exit=False))
    for exporter in (first, second):
        provider = _logs.LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7))
        processor._logger_provider = provider
        for number in range(1_500):
            processor(type("Logger", (), {"name": f"logger {number % 1_300}"}), "info", {"event": number})
        provider.shutdown()
        assert len(vars(processor)["_otel_fastpath_loggers"].values[1]) <= 1_024
    assert [each.log_record.body for each in first.get_finished_logs()] == list(range(1_500))
    assert [each.log_record.body for each in second.get_finished_logs()] == list(range(1_500))


@pytest.mark.usefixtures("fast", "no_faults")
def test_without_an_sdk_nothing_happens():
    """And nothing is kept."""
    processor = structlog_of_stock.StructlogProcessor(logger_provider=NoOpLoggerProvider())
    event = {"event": "x"}
    assert processor(None, "info", event) is event
    assert processor._otel_fastpath_loggers.values[1] == {}


@pytest.mark.usefixtures("fast", "no_faults")
def test_the_instrumentor_in_a_chain_of_processors():
    """As structlog's users have it."""
    exporter = InMemoryLogRecordExporter()
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7))
    printed = []
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, lambda *parts: printed.append(parts[2]) or ""],
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    instrumentor = structlog_of_stock.StructlogInstrumentor()
    instrumentor.instrument(logger_provider=provider)
    try:
        with structlog.contextvars.bound_contextvars(request=7):
            structlog.get_logger().bind(user="u").warning("sold", amount=3)
    finally:
        instrumentor.uninstrument()
        structlog.reset_defaults()
        provider.shutdown()

    [record] = exporter.get_finished_logs()
    assert record.log_record.body == "sold"
    assert record.log_record.attributes == {"request": 7, "user": "u", "amount": 3}
    assert record.log_record.severity_text == "WARN"
    assert len(printed) == 1


@pytest.mark.usefixtures("fast", "no_faults")
def test_loguru_through_a_handler():
    """It makes records of `logging` for the handler, with what is bound as one attribute."""
    from opentelemetry.instrumentation.logging.handler import LoggingHandler

    def program():
        exporter = InMemoryLogRecordExporter()
        provider = _logs.LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7))
        logger = loguru.logger
        sink = logger.add(LoggingHandler(logger_provider=provider), level=logging.DEBUG, format="{message}")
        try:
            logger.bind(order=7, user={"name": "u"}).info("{} sold", 3)
            logger.opt(exception=FALLEN).error("failed")
            logger.log("SUCCESS", "a level of its own")
        finally:
            logger.remove(sink)
            provider.shutdown()
        return exporter.get_finished_logs()

    ours = program()
    with stock():
        expected = program()

    assert [each[1:] for each in seen(ours)] == [each[1:] for each in seen(expected)]
    assert [each[0][1:] for each in seen(ours)] == [each[0][1:] for each in seen(expected)]
    assert len(ours) == 3
