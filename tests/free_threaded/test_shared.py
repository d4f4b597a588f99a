"""Threads that use one object at the same time lose nothing, exceed no limit and change nothing that has ended.

The tests run on every build; without the interpreter lock, the threads really run at the same time.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import sysconfig
import threading

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from otel_fastpath.exceptions import defaults, monitor
from otel_fastpath.instrumentor import FastpathInstrumentor

NEEDS_MONITORING = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring needs Python 3.12")
ROUNDS = 60
MOST = 50


def together(count, work):
    """Run `work(number)` in so many threads that begin at the same time; errors are raised here."""
    barrier, errors = threading.Barrier(count), []

    def run(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def fast(core, monkeypatch):
    """The instrumentor, with each core in turn; what ended spans say about late changes is not shown."""
    monkeypatch.setenv("OTEL_FASTPATH_CORE", core)
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument()
    yield instrumentor
    instrumentor.uninstrument()
    logging.getLogger("opentelemetry").setLevel(logging.NOTSET)


@pytest.fixture
def spans(fast):  # noqa: ARG001  # it must be in force
    """A tracer with a batch processor, the processor, and the exporter."""
    exporter = InMemorySpanExporter()
    processor = BatchSpanProcessor(exporter, max_queue_size=1 << 18, max_export_batch_size=1 << 12)
    provider = TracerProvider(span_limits=SpanLimits(max_attributes=MOST, max_events=MOST), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    yield provider.get_tracer("test"), processor, exporter
    provider.shutdown()


def test_a_span_keeps_its_limits(spans):
    """Four threads set 400 attributes and add 400 events: 50 of each are kept, and the others are counted."""
    tracer, _, _ = spans
    for _ in range(ROUNDS):
        span = tracer.start_span("span")

        def work(number, span=span):
            for each in range(100):
                span.set_attribute(f"{number}.{each}", each)
                span.add_event("event")

        together(4, work)
        span.end()

        assert (len(span.attributes), span.dropped_attributes) == (MOST, 400 - MOST)
        assert (len(span.events), span.dropped_events) == (MOST, 400 - MOST)


def test_an_ended_span_does_not_change(spans):
    """One thread ends the span while three change all of it: what is there right after the end stays."""
    tracer, _, _ = spans
    for _ in range(5 * ROUNDS):
        span, seen = tracer.start_span("span"), []

        def work(number, span=span, seen=seen):
            for each in range(30):
                if number == 0 and each == 10:
                    span.end()
                    seen.append((dict(span.attributes), len(span.events), span.status.status_code, span.name))
                span.set_attribute(f"{number}.{each % 5}", each)
                span.set_attributes({"a": number, "b": each})
                span.add_event("event")
                span.update_name(f"{number}.{each}")
                try:
                    assert dict(span.attributes)
                except KeyError:
                    # Stock's container removes a key before it sets it, and reads without its lock. Ours does not.
                    assert span.bounded_attributes is not None
                assert span.events
                span.set_status(Status(StatusCode.ERROR, str(each)) if number else StatusCode.UNSET)

        together(4, work)

        now = dict(span.attributes), len(span.events), span.status.status_code, span.name
        assert [now] == seen


def test_a_span_is_sent_once(spans):
    """Four threads end the same spans: each is exported exactly once."""
    tracer, processor, exporter = spans
    made = [tracer.start_span(str(number)) for number in range(2000)]

    def work(_):
        for span in made:
            span.end()

    together(4, work)

    assert processor.force_flush()
    names = [span.name for span in exporter.get_finished_spans()]
    assert sorted(names, key=int) == [span.name for span in made]


def test_every_span_arrives_below_one_parent(spans):
    """Threads start children of one span: none is lost, and all of them have its trace id and span id."""
    tracer, processor, exporter = spans
    with tracer.start_as_current_span("parent") as parent:
        from opentelemetry.context import get_current

        around = get_current()

        def work(number):
            for _ in range(2000):
                with tracer.start_as_current_span("child", context=around, attributes={"number": number}):
                    pass

        together(4, work)

    assert processor.force_flush()
    context = parent.get_span_context()
    children = [span for span in exporter.get_finished_spans() if span.name == "child"]
    assert len({span.context.span_id for span in children}) == len(children) == 8000
    assert {(span.context.trace_id, span.parent.span_id) for span in children} == {(context.trace_id, context.span_id)}


# Without the interpreter lock, threads that compete for a lock of `threading` sleep and are woken one by one. The pure
# core takes the locks of OpenTelemetry's aggregations as stock does, and both need minutes for what takes seconds here.
PURE = 2_000 if sysconfig.get_config_var("Py_GIL_DISABLED") else None


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
def test_a_million_measurements_in_each_of_four_threads(core):
    """Sums and counts are exact."""
    measure((core == "py" and PURE) or 1_000_000)


@pytest.mark.usefixtures("fast")
def test_measurements_are_exact_while_they_are_collected(core):
    """Four threads add to one counter and record in one histogram while another collects."""
    measure((core == "py" and PURE) or 20_000)


def measure(each):
    """Measure in four threads, collect meanwhile, and compare the sums."""
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("test")
    counter, histogram, done = meter.create_counter("counter"), meter.create_histogram("histogram"), threading.Event()

    def work(number):
        if number == 4:
            while not done.wait(0.001):
                reader.get_metrics_data()
            return
        for index in range(each):
            counter.add(1, {"route": "/"})
            histogram.record(index % 7, {"route": "/"})
        finished.append(number)
        if len(finished) == 4:
            done.set()

    finished = []
    together(5, work)

    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    points = {metric.name: metric.data.data_points[0] for metric in scope.metrics}
    assert points["counter"].value == points["histogram"].count == sum(points["histogram"].bucket_counts) == 4 * each
    assert points["histogram"].sum == 4 * sum(index % 7 for index in range(each))


def test_patches_come_and_go_during_traffic(fast):
    """While spans are made and amounts are added, everything is instrumented and put back: nothing is lost."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    processor = BatchSpanProcessor(exporter, max_queue_size=1 << 18)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("test")
    counter = MeterProvider([reader], shutdown_on_exit=False).get_meter("test").create_counter("counter")

    def work(number):
        if number == 0:
            for _ in range(5):
                fast.uninstrument()
                fast.instrument()
            return
        for _ in range(2000):
            with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner") as span:
                span.set_attribute("number", number)
                counter.add(1)

    together(4, work)

    assert processor.force_flush()
    assert len(exporter.get_finished_spans()) == 3 * 2 * 2000
    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    assert scope.metrics[0].data.data_points[0].value == 3 * 2000
    provider.shutdown()


class SharedError(Exception):
    """Raised by all threads."""


class OwnError(Exception):
    """Has many subclasses of one name."""


def fail():
    """Raise one."""
    raise SharedError


@pytest.fixture
def counting():
    """Exceptions are counted, with their places and whether they are handled; starts the counters again when called."""
    engine = monitor.state.engine
    if engine is not None:
        engine.reset()

    def begin():
        if not monitor.prepare(defaults.Settings(mode=defaults.HANDLED, code=True)):
            pytest.skip(monitor.state.reason)
        monitor.run()

    begin()
    yield begin
    monitor.stop()


def counted():
    """The counts of the shared exception; None if none was counted yet."""
    return next((each for each in monitor.snapshot() if each.type.endswith("SharedError")), None)


@NEEDS_MONITORING
@pytest.mark.usefixtures("counting")
def test_exceptions_of_eight_threads_are_all_counted():
    """Each of them once, and each as handled."""

    def work(_):
        for _ in range(5000):
            with contextlib.suppress(SharedError):
                fail()

    together(8, work)

    count = counted()
    assert (count.raised, count.handled, count.sites[0].raised) == (40_000, 40_000, 40_000)


@NEEDS_MONITORING
@pytest.mark.usefixtures("counting")
def test_exceptions_are_counted_while_they_are_read_and_their_types_change():
    """One thread reads the counts, and three raise; each raises more types than are remembered."""
    counts = []

    def work(number):
        for index in range(2000):
            if number == 0:
                count = counted()
                counts.append(0 if count is None else count.raised)
                continue
            if index % 2:
                with contextlib.suppress(OwnError):
                    raise type("OwnError", (OwnError,), {})
            with contextlib.suppress(SharedError):
                fail()

    together(4, work)

    count = counted()
    assert (count.raised, count.handled, count.sites[0].raised) == (6000, 6000, 6000)
    assert counts == sorted(counts)
    assert sum(each.raised for each in monitor.snapshot() if each.type.endswith("OwnError")) == 3000


@NEEDS_MONITORING
def test_counters_stop_and_start_while_threads_raise(counting):
    """What is raised is counted at most once, and all of it after the last start."""

    def work(number):
        for _ in range(30 if number == 0 else 3000):
            if number == 0:
                monitor.stop()
                counting()
            else:
                with contextlib.suppress(SharedError):
                    fail()

    together(4, work)
    before = 0 if counted() is None else counted().raised
    assert before <= 9000

    work(1)

    assert counted().raised == before + 3000


@NEEDS_MONITORING
@pytest.mark.usefixtures("counting")
def test_an_exception_that_threads_share_is_counted_once():
    """Four threads raise the same object again and again, as the result of a failed future is raised."""
    error = None
    with contextlib.suppress(SharedError):
        fail()
    try:
        fail()
    except SharedError as raised:
        error = raised

    def work(_):
        for _ in range(2000):
            with contextlib.suppress(SharedError):
                raise error

    together(4, work)

    count = counted()
    assert (count.raised, count.handled) == (2, 2)


@NEEDS_MONITORING
@pytest.mark.usefixtures("counting")
def test_an_exception_that_threads_raise_for_the_first_time_is_counted_once():
    """Four threads raise the same new objects at the same time."""
    errors = [SharedError() for _ in range(2000)]

    def work(_):
        for error in errors:
            with contextlib.suppress(SharedError):
                raise error

    together(4, work)

    count = counted()
    assert (count.raised, count.handled) == (2000, 2000)
