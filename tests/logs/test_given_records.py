"""`Logger.emit(LogRecord(...))`: what processors and exporters get, and what the application has in hand after it."""

from __future__ import annotations

import functools
import logging
import os
import threading
import warnings

import pytest
import wrapt
from given_records import KINDS, LIMITS, Own, Setup, close, play
from newer_releases import disabled_loggers, record_exceptions
from opentelemetry import context as context_api
from opentelemetry._logs import LogRecord
from opentelemetry._logs import _internal as api_internal
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk import _logs
from opentelemetry.sdk.trace import TracerProvider


@pytest.fixture(autouse=True)
def closed():
    """No thread is left."""
    yield
    close()


@pytest.mark.proves("logs.emit", "logs.record", "logs.batch_on_emit")
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", KINDS)
def test_random_records_are_as_in_stock(kind, limits, instrumentor, core, no_faults):
    """For whoever made them, for processors in any order, and for the exporter."""
    seeds = range(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [play(kind, limits, seed) for seed in seeds]
        instrumentor.instrument(core=core)
        found = [play(kind, limits, seed) for seed in seeds]

    assert found == expected
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("instrumented")
def test_the_queue_gets_the_way_that_is_short():
    """And a processor of one's own gets stock's objects."""
    setup = Setup("batch")
    for _ in range(3):
        setup.logger.emit(LogRecord(body="x", attributes={"a": 1}))
    setup.batch.force_flush()
    kinds = {type(each).__module__ for each in setup.exporter.get_finished_logs()}
    assert kinds == {"otel_fastpath.logs.records.record_class"}

    setup = Setup("own")
    setup.logger.emit(LogRecord(body="x"))
    assert [each[:2] for each in setup.own.seen] == [(_logs.ReadWriteLogRecord, LogRecord)]


@pytest.mark.usefixtures("instrumented")
def test_the_record_of_the_application_has_stocks_container():
    """It can still be changed, and what is queued is the very same container, as in stock."""
    setup = Setup("batch")
    record = LogRecord(body="x", attributes={"a": 1})
    setup.logger.emit(record)
    assert type(record.attributes) is BoundedAttributes
    record.attributes["b"] = 2
    record.body = "changed"

    setup.batch.force_flush()
    [exported] = setup.exporter.get_finished_logs()
    assert exported.log_record.attributes == {"a": 1, "b": 2}


@disabled_loggers
@pytest.mark.usefixtures("instrumented")
def test_dropped_attributes_are_warned_of():
    """As stock does, from the same place of the same warning."""
    setup = Setup("batch", {"max_attributes": 1})
    with pytest.warns(_logs.LogRecordDroppedAttributesWarning, match="dropped due to limits"):
        setup.logger.emit(LogRecord(body="x", attributes={"a": 1, "b": 2}))


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("kind", ["batch", "own"])
def test_a_subclass_is_left_to_stock(kind):
    """It may have properties of its own, or another constructor."""

    class Loud(LogRecord):
        def __init__(self, **fields):
            super().__init__(**fields)
            self.loudness = 5

        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            self.__dict__.setdefault("set", []).append(name)

    setup = Setup(kind)
    record = Loud(body="x", attributes={"a": 1})
    setup.logger.emit(record)

    assert record.loudness == 5
    assert record.__dict__["set"].count("attributes") == 2
    assert len(setup.exported()) + len(setup.own.seen) == 1


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("kind", ["batch", "own"])
def test_the_logger_of_a_subclass_is_left_to_stock(kind):
    """Its own `emit` runs first."""
    seen = []

    class Mine(_logs.Logger):
        def emit(self, record=None, **parts):
            seen.append(record)
            super().emit(record, **parts)

    setup = Setup(kind)
    logger = Mine.__new__(Mine)
    vars(logger).update(vars(setup.logger))
    record = LogRecord(body="x")
    logger.emit(record)

    assert seen == [record]
    assert len(setup.exported()) + len(setup.own.seen) == 1


@disabled_loggers
@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("kind", ["batch", "own"])
def test_a_logger_that_is_off_changes_nothing(kind):
    """Not the record either."""
    setup = Setup(kind)
    setup.logger.emit(LogRecord(body="x"))
    setup.logger._logger_config.is_enabled = False
    record = LogRecord(body="off", attributes={"a": 1})
    setup.logger.emit(record)
    setup.logger.emit(body="off")

    assert type(record.attributes) is dict
    assert len(setup.exported()) + len(setup.own.seen) == 1


@pytest.mark.usefixtures("instrumented")
def test_a_processor_that_raises():
    """Its exception reaches the application, and it is called once."""

    class Raising(Own):
        def on_emit(self, log_record):
            super().on_emit(log_record)
            raise ValueError(log_record.log_record.body)

    setup = Setup("nothing")
    raising = Raising()
    setup.provider.add_log_record_processor(raising)
    for emit in (lambda: setup.logger.emit(LogRecord(body="x")), lambda: setup.logger.emit(body="x")):
        with pytest.raises(ValueError, match="x"):
            emit()
    assert len(raising.seen) == 2


@pytest.mark.usefixtures("instrumented")
def test_a_processor_that_is_added_later():
    """It gets the next record."""
    setup = Setup("own")
    later = Own()
    for number in range(3):
        setup.logger.emit(LogRecord(body=number))
    setup.provider.add_log_record_processor(later)
    setup.logger.emit(LogRecord(body=3))

    assert (len(setup.own.seen), len(later.seen)) == (4, 1)


WRAPPED = [
    (LogRecord, "__init__"),
    (_logs.Logger, "emit"),
    (_logs.ReadWriteLogRecord, "__init__"),
    (_logs.ReadWriteLogRecord, "__post_init__"),
    (BoundedAttributes, "__init__"),
    (api_internal, "get_current"),
    (api_internal, "get_current_span"),
]


@pytest.mark.parametrize("kind", ["batch", "own"])
@pytest.mark.parametrize("when", ["before", "after", "late"])
@pytest.mark.parametrize(("owner", "name"), WRAPPED)
def test_another_vendors_wrapper_is_called(owner, name, when, kind, instrumentor, core, monkeypatch):
    """Of wrapt, put in place before ours, after it, or once records were emitted; as often as with stock."""
    calls = []

    @wrapt.decorator
    def note(wrapped, _instance, args, kwargs):
        calls.append(name)
        return wrapped(*args, **kwargs)

    def wrap():
        monkeypatch.setattr(owner, name, note(vars(owner)[name]))

    def emit(setup):
        calls.clear()
        setup.logger.emit(LogRecord(body="x", attributes={"a": 1}))
        return len(calls)

    with monkeypatch.context() as undone:
        undone.setattr(owner, name, note(vars(owner)[name]))
        expected = emit(Setup(kind))
    if when == "before":
        wrap()
    instrumentor.instrument(core=core)
    setup = Setup(kind)
    for _ in range(3 if when == "late" else 0):
        setup.logger.emit(LogRecord(body="before"))
    if when != "before":
        wrap()

    assert emit(setup) == expected >= 1
    instrumentor.uninstrument()
    assert emit(setup) == expected


@pytest.mark.parametrize("kind", ["batch", "own"])
def test_uninstrumenting_between_records(kind, instrumentor, core):
    """Each is emitted once, whoever does it."""
    setup = Setup(kind)
    for _ in range(2):
        instrumentor.instrument(core=core)
        setup.logger.emit(LogRecord(body="fast"))
        instrumentor.uninstrument()
        setup.logger.emit(LogRecord(body="stock"))

    assert len(setup.exported()) + len(setup.own.seen) == 4
    assert "wraps" not in repr(LogRecord.__init__)
    assert not hasattr(LogRecord.__init__, "__wrapped__")


@record_exceptions
@pytest.mark.parametrize("kind", ["batch", "own"])
def test_an_exception_is_described_in_a_copy(kind, instrumentor, core):
    """The application's record stays as it was."""

    def emit():
        setup = Setup(kind)
        try:
            raise LookupError("failed")  # noqa: TRY301  # it has a traceback
        except LookupError as error:
            record = LogRecord(body="x", attributes={"a": 1, "exception.type": "mine"}, exception=error)
        setup.logger.emit(record)
        assert record.attributes == {"a": 1, "exception.type": "mine"}
        return setup.exported(), [each[-1] for each in setup.own.seen]

    expected = emit()
    instrumentor.instrument(core=core)
    assert emit() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.usefixtures("instrumented")
def test_a_forked_child_emits_its_own():
    """With ids of its own spans."""
    setup = Setup("own")
    setup.logger.emit(LogRecord(body="before"))
    child = os.fork()
    if child == 0:
        setup.logger.emit(LogRecord(body="child"))
        os._exit(0 if len(setup.own.seen) == 2 else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert len(setup.own.seen) == 1


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("kind", ["batch", "own"])
def test_threads_do_not_mix_their_records(kind):
    """Each record has the ids of its own thread's span."""
    setup, wrong = Setup(kind), []
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("threads")

    def emit():
        for _ in range(200):
            with tracer.start_as_current_span("around") as span:
                record = LogRecord(body="x", attributes={"a": 1})
                setup.logger.emit(record)
                own = span.get_span_context()
                if (record.trace_id, record.span_id) != (own.trace_id, own.span_id):
                    wrong.append(record)

    threads = [threading.Thread(target=emit) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert wrong == []
    assert len(setup.exported()) + len(setup.own.seen) == 800


@pytest.mark.usefixtures("instrumented")
def test_the_clock_and_the_context_are_those_of_the_api(monkeypatch):
    """Tests of applications replace them."""
    monkeypatch.setattr(api_internal, "time_ns", lambda: 5)
    token = context_api.attach(Context(a=1))
    try:
        record = LogRecord(body="x")
    finally:
        context_api.detach(token)

    assert record.observed_timestamp == 5
    assert record.context == {"a": 1}


@pytest.mark.usefixtures("instrumented")
def test_arguments_that_there_are_not():
    """They are refused as by stock."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'text'"):
        LogRecord(text="x")
    with pytest.raises(TypeError):
        LogRecord("x")


@pytest.mark.usefixtures("instrumented")
def test_a_handler_before_a_processor_of_ones_own():
    """Stock's handler translates the record, which is then given as a whole."""
    setup = Setup("own")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        handler = _logs.LoggingHandler(logger_provider=setup.provider)
    for _ in range(3):
        handler.handle(logging.LogRecord("given", logging.INFO, "a.py", 1, "x", (), None))

    assert len(setup.own.seen) == 3


def _never(*_):
    raise AssertionError


@pytest.mark.usefixtures("instrumented")
def test_nothing_is_sent_after_shutdown():
    """Stock says so."""
    setup = Setup("batch")
    setup.logger.emit(LogRecord(body="before"))
    setup.provider.shutdown()
    setup.exporter.export = functools.partial(_never)
    setup.logger.emit(LogRecord(body="after"))
