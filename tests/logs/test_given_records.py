"""`Logger.emit(LogRecord(...))`: what processors and exporters get, and what the application has in hand after it."""

from __future__ import annotations

import functools
import itertools
import logging
import os
import random
import threading
import warnings

import pytest
import wrapt
from newer_releases import disabled_loggers, older, record_exceptions
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry._logs import _internal as api_internal
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

TAKES_EXCEPTIONS = not older("opentelemetry-sdk", "1.42")
LIMITS = {"plain": {}, "few": {"max_attributes": 3, "max_attribute_length": 4}, "none": {"max_attributes": 0}}
REMOTE = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(1))
KINDS = ("batch", "own", "own, batch", "batch, own", "nothing", "others")
VALUES = (1, True, 0.5, "text", "longer text", None, b"bytes", ["a", "b"], {"nested": {"a": [1]}}, object, (1, "a"))
KEYS = ("a", "b", "c", "key", "", 5)


class Own(_logs.LogRecordProcessor):
    """Keeps what it sees of each record, and changes it if it is to."""

    def __init__(self, changes=False):
        self.seen = []
        self._changes = changes

    def on_emit(self, log_record):
        """Look."""
        inner = log_record.log_record
        parts = (log_record.resource.to_json(), log_record.instrumentation_scope, log_record.dropped_attributes)
        self.seen.append((type(log_record), type(inner), sorted(vars(log_record)), parts, shown(inner)))
        if self._changes:
            inner.attributes["changed"] = len(self.seen)
            inner.severity_text = "changed"

    def shutdown(self):
        """Nothing is held."""

    def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Others(_logs.LogRecordProcessor):
    """In the place of stock's own list of processors."""

    def __init__(self):
        self.own = Own()

    def on_emit(self, log_record):
        """Pass it on."""
        self.own.on_emit(log_record)

    def shutdown(self):
        """Nothing is held."""

    def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Setup:
    """A provider with processors, and its logger."""

    def __init__(self, kind="batch", limits=(), **more):
        self.exporter, self.own = InMemoryLogRecordExporter(), Own()
        given = _logs.LogRecordLimits(**dict(limits)) if limits else None
        if given is not None and not older("opentelemetry-sdk", "1.44"):
            more["log_record_limits"] = given
        if kind == "others":
            more["multi_log_record_processor"] = Others()
            self.own = more["multi_log_record_processor"].own
        self.provider = _logs.LoggerProvider(shutdown_on_exit=False, **more)
        self.batch = BatchLogRecordProcessor(self.exporter, schedule_delay_millis=1e7)
        for name in () if kind in {"nothing", "others"} else kind.split(", "):
            self.provider.add_log_record_processor(self.batch if name == "batch" else self.own)
        self.logger = self.provider.get_logger("given")

    def exported(self):
        """What the exporter got, as far as it does not change from run to run."""
        self.batch.force_flush()
        found = [
            (shown(each.log_record), each.resource.to_json(), each.instrumentation_scope, each.dropped_attributes)
            for each in self.exporter.get_finished_logs()
        ]
        self.exporter.clear()
        return found


def shown(record):
    """All fields of a record, the times by whether they are there, and attributes in their order."""
    fields = dict(vars(record))
    fields["observed_timestamp"] = type(fields["observed_timestamp"])
    fields["context"] = sorted(map(str, fields["context"]))
    attributes = fields["attributes"]
    if isinstance(attributes, BoundedAttributes):
        own = {name: value for name, value in vars(attributes).items() if name != "_lock"}
        own["_dict"] = list(own["_dict"].items())
        assert attributes._lock.acquire(blocking=False) is True
        attributes._lock.release()
        fields["attributes"] = own
    return sorted((name, repr(value)) for name, value in fields.items())


class Numbers(IdGenerator):
    """Counts, so that a program has the same ids each time."""

    def __init__(self):
        self._made = itertools.count(1)

    def generate_span_id(self):
        """The next."""
        return next(self._made)

    generate_trace_id = generate_span_id


def drawn(draw):
    """The arguments of a record."""
    attributes = {draw.choice(KEYS): draw.choice(VALUES) for _ in range(draw.randrange(6))}
    fields = {
        "timestamp": draw.choice((None, 0, 5)),
        "observed_timestamp": draw.choice((None, 0, 7)),
        "context": draw.choice((None, Context(), trace.set_span_in_context(NonRecordingSpan(REMOTE), Context(a=1)))),
        "severity_text": draw.choice((None, "WARN")),
        "severity_number": draw.choice((None, SeverityNumber.INFO)),
        "body": draw.choice((None, "text", 5, {"a": [1]}, object)),
        "attributes": draw.choice((None, {}, attributes, BoundedAttributes(2, attributes, immutable=False))),
        "event_name": draw.choice((None, "event")),
    }
    if draw.randrange(3) == 0:
        fields |= {name: draw.choice((None, 0, 9)) for name in ("trace_id", "span_id", "trace_flags")}
    if TAKES_EXCEPTIONS and draw.randrange(4) == 0:
        fields["exception"] = draw.choice((ValueError("failed"), KeyError()))
    return fields


def play(kind, limits, seed):
    """What is seen of random records with these processors and limits."""
    draw, setup, seen = random.Random(seed), Setup(kind, LIMITS[limits]), []  # noqa: S311  # it is to repeat
    tracer = TracerProvider(shutdown_on_exit=False, id_generator=Numbers()).get_tracer("given")
    for _ in range(12):
        fields = drawn(draw)
        is_inside, is_given, again = draw.randrange(2), draw.randrange(3), draw.randrange(4)
        span = tracer.start_span("around")
        with trace.use_span(span if is_inside else NonRecordingSpan(REMOTE)):
            try:
                if not is_given:
                    for name in ("trace_id", "span_id", "trace_flags"):
                        fields.pop(name, None)
                    setup.logger.emit(**fields)
                    continue
                record = LogRecord(**fields)
                for _ in range(1 + (again == 0)):
                    setup.logger.emit(record)
                if again == 1:
                    setup.logger.emit(_logs.ReadWriteLogRecord(record, setup.provider.resource))
                record.attributes["later"] = 1
                seen.append(shown(record))
            except (AttributeError, TypeError) as error:
                seen.append(repr(error))
    return seen, setup.own.seen, setup.exported()


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
