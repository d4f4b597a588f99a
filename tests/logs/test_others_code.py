"""Other people's code around the fast path: what they override, wrap, add or log is called as it is with stock."""

from __future__ import annotations

import functools
import logging
import subprocess
import sys

import opentelemetry.instrumentation.logging.handler as handler_module
import pytest
from newer_releases import older, record_exceptions, recursive_records
from odd_exceptions import NEEDS_TRACEBACK, AnswerError, DelegatingError
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs import _internal
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter

from otel_fastpath.logs import refused

OURS = "otel_fastpath.logs.records.record_class"
# Each of them is imported first by some program.
FIRST = [
    "opentelemetry.sdk._logs",
    "opentelemetry.sdk._logs.export",
    "opentelemetry.instrumentation.logging",
    "opentelemetry.exporter.otlp.proto.http._log_exporter",
]
STATES = """
import importlib, sys
from otel_fastpath import FastpathInstrumentor
instrumentor = FastpathInstrumentor()
instrumentor.instrument(disabled="exceptions")
for name in sys.argv[1:]:
    importlib.import_module(name)
every = [row for row in instrumentor.status() if row.name.startswith("logs.")]
# structlog's instrumentation is imported by nothing of the others.
rows = [row for row in every if not row.name.startswith("logs.structlog")]
print(*(f"{row.name}: {row.reason}" for row in rows if row.state.value != "applied"), sep="\\n")
"""


class Setup:
    """A logger with a handler and a batch processor."""

    def __init__(self, kind=None):
        self.exporter = InMemoryLogRecordExporter()
        self.provider = _logs.LoggerProvider(shutdown_on_exit=False)
        self.provider.add_log_record_processor(BatchLogRecordProcessor(self.exporter, schedule_delay_millis=1e7))
        self.handler = (kind or handler_module.LoggingHandler)(logger_provider=self.provider)
        self.logger = logging.Logger("test.others")  # noqa: LOG001  # not one of the application
        self.logger.addHandler(self.handler)

    def bodies(self):
        """The bodies of the records so far."""
        self.provider.force_flush()
        return [each.log_record.body for each in self.exporter.get_finished_logs()]


@pytest.fixture
def make():
    """Makes a set-up, and shuts it down after the test."""
    made = []

    def begin(kind=None):
        made.append(Setup(kind))
        return made[-1]

    yield begin
    for each in made:
        each.provider.shutdown()


def wrapped(owner, name, seen, monkeypatch):
    """Wrap a method as many vendors do."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(self, *args, **kwargs):
        seen.append(name)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, wrapper)


WRAPPED = [
    (logging.Handler, "handle"),
    (logging.Filterer, "filter"),
    (logging.LogRecord, "getMessage"),
    (handler_module.LoggingHandler, "handle"),
    (handler_module.LoggingHandler, "emit"),
    (handler_module.LoggingHandler, "_translate"),
    (_logs.Logger, "emit"),
    (_internal.SynchronousMultiLogRecordProcessor, "on_emit"),
    (BatchLogRecordProcessor, "on_emit"),
]


@pytest.mark.parametrize("when", ["before", "after", "late"])
@pytest.mark.parametrize(("owner", "name"), WRAPPED)
def test_a_wrapped_method_is_called(when, owner, name, instrumentor, core, make):
    """Wrapped before ours is in place, after that, or after the first record; `functools.wraps` copies the names."""
    seen = []
    # Undone before ours is removed: each test begins with stock's methods.
    with pytest.MonkeyPatch.context() as vendor:
        if when == "before":
            wrapped(owner, name, seen, vendor)
        instrumentor.instrument(core=core)
        if when == "after":
            wrapped(owner, name, seen, vendor)
        setup = make()
        if when == "late":
            setup.logger.info("first")
            wrapped(owner, name, seen, vendor)
        setup.logger.info("message")
        assert name in seen
        seen.clear()
        setup.logger.info("another")
        assert name in seen
        assert setup.bodies()[-2:] == ["message", "another"]
        if when == "before":
            instrumentor.uninstrument()


@pytest.mark.parametrize("name", ["filter", "emit", "handle", "_translate", "_get_attributes"])
def test_a_method_of_a_subclass_is_called(name, instrumented, make):  # noqa: ARG001  # the fast path is in place
    """The short way leaves it out."""
    seen = []

    def method(self, *args):
        seen.append(name)
        return getattr(super(own, self), name)(*args)

    own = type("Own", (handler_module.LoggingHandler,), {name: method})
    setup = make(own)
    seen.clear()
    setup.logger.info("message")
    assert seen
    assert setup.bodies() == ["message"]


def test_a_filter_that_is_added_later_is_asked(instrumented, make):  # noqa: ARG001  # likewise
    """And its result counts."""
    setup = make()
    setup.logger.info("before")
    setup.handler.addFilter(lambda record: record.msg != "hidden")
    setup.logger.info("hidden")
    setup.logger.info("shown")
    assert setup.bodies() == ["before", "shown"]


def test_a_processor_that_is_added_later_gets_the_records(instrumented, make):  # noqa: ARG001  # likewise
    """All after that."""
    setup = make()
    setup.logger.info("before")
    other = InMemoryLogRecordExporter()
    setup.provider.add_log_record_processor(BatchLogRecordProcessor(other, schedule_delay_millis=1e7))
    setup.logger.info("after")
    assert setup.bodies() == ["before", "after"]
    assert [each.log_record.body for each in other.get_finished_logs()] == ["after"]


def test_a_formatter_that_is_set_later_makes_the_body(instrumented, make):  # noqa: ARG001  # likewise
    """As stock does."""
    setup = make()
    setup.logger.info("before")
    setup.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    setup.logger.info("after")
    assert setup.bodies() == ["before", "INFO after"]


@recursive_records
def test_an_object_that_logs_while_it_is_formatted(instrumented, make, caplog):  # noqa: ARG001  # likewise
    """The inner record is left out with stock's warning, in a message and in an attribute."""
    setup = make()

    class Logging:
        def __str__(self):
            setup.logger.info("inner")
            return "outer"

    setup.logger.info("%s", Logging())
    setup.logger.info("attribute", extra={"a": Logging()})
    assert setup.bodies() == ["outer", "attribute"]
    assert [each.getMessage() for each in caplog.records if "recursive" in each.getMessage()]


def test_an_extra_without_a_text_reaches_handle_error_only(instrumented, make, monkeypatch, no_faults):  # noqa: ARG001  # likewise
    """Stock raises it in the application, or leaves the attribute out."""
    setup = make()

    class Broken:
        def __str__(self):
            raise ValueError("no text")

    monkeypatch.setattr(setup.handler, "handleError", lambda record: None)  # noqa: ARG005  # the interface
    setup.logger.info("broken", extra={"a": Broken()})
    setup.logger.info("fine")
    assert setup.bodies()[-1] == "fine"
    assert no_faults.counts() == {}


@pytest.mark.parametrize("created", [float("nan"), float("inf"), -1.0, 1e30])
def test_a_record_of_an_odd_time_is_no_fault(created, instrumented, make, monkeypatch, no_faults):  # noqa: ARG001  # likewise
    """Stock's method decides."""
    setup = make()
    monkeypatch.setattr(setup.handler, "handleError", lambda record: None)  # noqa: ARG005  # the interface
    record = logging.LogRecord("name", 20, "file", 1, "odd", (), None)
    record.created = created
    setup.logger.handle(record)
    setup.logger.info("fine")
    assert setup.bodies()[-1] == "fine"
    assert no_faults.counts() == {}


def test_the_attributes_of_unusual_records(instrumented, make):  # noqa: ARG001  # likewise
    """Fields that are missing, in another order, set by a formatter, or not named by text."""
    setup = make()

    def log(change):
        record = logging.LogRecord("name", 20, "file", 1, "message", (), None)
        change(record)
        setup.handler.handle(record)
        setup.provider.force_flush()
        return dict(setup.exporter.get_finished_logs()[-1].log_record.attributes)

    def shorter(record):
        del record.process
        record.added = 1

    def reordered(record):
        record.first = 1
        record.name = vars(record).pop("name")
        record.asctime = record.message = "formatted"
        record.second = 2

    def numbered(record):
        vars(record)[7] = "seven"
        record.added = 1

    assert log(shorter) == {"added": 1}
    assert list(log(reordered).items()) == [("first", 1), ("second", 2)]
    # Before 1.45, stock drops the value and keeps the key.
    assert log(numbered) == {**({7: None} if older("opentelemetry-sdk", "1.45") else {"7": "seven"}), "added": 1}


def test_an_exception_without_a_text_is_counted(instrumented, make):  # noqa: ARG001  # likewise
    """`Logger.emit` raises nothing."""
    setup = make()

    class BrokenError(Exception):
        def __str__(self):
            raise ValueError("no text")

    before = sum(refused.counts().values())
    setup.provider.get_logger("direct").emit(body="x", exception=BrokenError())
    assert sum(refused.counts().values()) == before + 1


@record_exceptions
@NEEDS_TRACEBACK
@pytest.mark.parametrize("kind", [AnswerError, DelegatingError])
def test_an_exception_whose_attributes_raise_is_in_its_record(kind, instrumented, make, no_faults):  # noqa: ARG001  # the fast path is in place
    """With the text of the `traceback` module, which looks for notes."""
    setup = make()
    setup.provider.get_logger("direct").emit(body="direct", exception=kind("failed"))
    with pytest.raises(kind) as raised:
        raise kind("failed")
    setup.logger.error("handled", exc_info=raised.value)
    assert setup.bodies() == ["direct", "handled"]
    for each in setup.exporter.get_finished_logs():
        assert "failed\nIgnored error getting __notes__: " in each.log_record.attributes["exception.stacktrace"]
    assert no_faults.counts() == {}


def test_a_body_that_contains_itself_many_times_takes_no_time(instrumented, make):  # noqa: ARG001  # likewise
    """Two references at each of 24 levels would be 16 million copies."""
    setup = make()
    body = []
    body += [body, {"again": body}, body, (body, body)]
    setup.provider.get_logger("direct").emit(body=body)
    [found] = setup.bodies()
    assert found is not body
    assert found[0] is found
    assert found[1]["again"] is found


def test_uninstrumenting_between_records(instrumentor, core, make):
    """Those in the queue are exported; later ones go stock's way, and ours again when it is back."""
    instrumentor.instrument(core=core)
    setup = make()
    setup.logger.info("ours")
    instrumentor.uninstrument()
    setup.logger.info("theirs")
    instrumentor.instrument(core=core)
    setup.logger.info("ours again")
    assert setup.bodies() == ["ours", "theirs", "ours again"]
    kinds = [type(each).__module__ == OURS for each in setup.exporter.get_finished_logs()]
    assert kinds[:2] == [True, False]


def test_another_vendors_patch_after_ours_is_called(instrumented, make, monkeypatch):  # noqa: ARG001  # the fast path is in place
    """Of a method that the short way skips."""
    setup = make()
    setup.logger.info("before")
    original = _logs.Logger.emit
    seen = []

    def emit(self, record=None, **parts):
        seen.append(record.body if record is not None else parts["body"])
        return original(self, record, **parts)

    monkeypatch.setattr(_logs.Logger, "emit", emit)
    setup.logger.info("wrapped")
    monkeypatch.undo()
    setup.logger.info("after")

    assert seen == ["wrapped"]
    assert setup.bodies() == ["before", "wrapped", "after"]


def test_another_vendors_patch_before_ours_is_called(instrumentor, core, make, monkeypatch):
    """Ours is then left off."""
    original = handler_module.LoggingHandler._translate
    seen = []

    def translate(self, record):
        seen.append(record.msg)
        return original(self, record)

    monkeypatch.setattr(handler_module.LoggingHandler, "_translate", translate)
    instrumentor.instrument(core=core)
    setup = make()
    setup.logger.info("x")

    assert seen == ["x"]
    assert setup.bodies() == ["x"]


@pytest.mark.parametrize("first", FIRST)
def test_the_patches_are_applied_whatever_is_imported_first(first):
    """While `opentelemetry.sdk._logs` is imported, its parts import one another."""
    names = [first, "opentelemetry.instrumentation.logging"]
    done = subprocess.run([sys.executable, "-c", STATES, *names], capture_output=True, text=True, check=True)
    # The module came with 1.42.
    missing = "logs.exception: opentelemetry.sdk._logs._internal._exceptions is not imported yet"
    assert done.stdout.strip() == (missing if older("opentelemetry-sdk", "1.42") else "")
    assert done.stderr == ""
