"""Nothing is kept: spans by the hundred thousand leave memory as it was, and an exception is let go of at once."""

from __future__ import annotations

import gc
import sys
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

from otel_fastpath.patching.interpreter import FREE_THREADED

ATTRIBUTES = {"http.method": "GET", "http.status_code": 200, "ratio": 0.5, "ok": True, "list": ["a", "b"]}
LINKS = [trace.Link(trace.SpanContext(5, 6, is_remote=True), {"a": 1})]
REMOTE = trace.set_span_in_context(
    trace.NonRecordingSpan(trace.SpanContext(5, 6, is_remote=True, trace_flags=trace.TraceFlags(1)))
)


class _Null(SpanExporter):
    def export(self, spans):
        for span in spans:
            len(span.attributes)
        return SpanExportResult.SUCCESS


def _provider(processor="batch", **settings):
    provider = TracerProvider(shutdown_on_exit=False, **settings)
    kind = {"batch": BatchSpanProcessor, "simple": SimpleSpanProcessor}[processor]
    provider.add_span_processor(kind(_Null()))
    return provider


def _start_and_end(tracer):
    tracer.start_span("span", attributes=ATTRIBUTES, links=LINKS, kind=trace.SpanKind.SERVER).end()


def _current(tracer):
    with tracer.start_as_current_span("outer", attributes=ATTRIBUTES), tracer.start_as_current_span("inner"):
        pass


def _explicit_context(tracer):
    with tracer.start_as_current_span("outer", context=REMOTE) as span:
        tracer.start_span("inner", context=trace.set_span_in_context(span)).end()


def _everything(tracer):
    span = tracer.start_span("span", start_time=5)
    span.set_attribute("text", "x")
    span.set_attribute("text", ["y", "z"])
    span.set_attributes({"one": 1, "two": None})
    span.add_event("event", ATTRIBUTES)
    span.add_link(LINKS[0].context, {"a": 1})
    span.update_name("renamed")
    span.set_status(trace.StatusCode.ERROR, "no")
    span.end(7)


def _looked_into(tracer):
    span = tracer.start_span("span", attributes=ATTRIBUTES)
    span.add_event("event")
    with span._lock:
        len(span._attributes)
        len(span._events)
        len(span._links)
    span.set_attribute("more", 1)
    span.end()


def _fail():
    local = list(range(5))
    raise ValueError(local)


def _exception(tracer):
    with suppress(ValueError), tracer.start_as_current_span("span"):
        _fail()


def _recorded(tracer):
    span = tracer.start_span("span")
    try:
        try:
            _fail()
        except ValueError as error:
            raise LookupError("chained") from error
    except LookupError as error:
        span.record_exception(error, {"a": [1]})
    span.end()


def _used(tracer):
    with trace.use_span(tracer.start_span("span"), end_on_exit=True):
        pass


def _decorated(tracer):
    tracer.start_as_current_span("span")(_nothing)()


def _nothing():
    pass


def _dropped_scope(tracer):
    scope = tracer.start_as_current_span("span")
    scope.__enter__()
    del scope


def _generator(tracer):
    def generate():
        with tracer.start_as_current_span("span"):
            yield

    next(generate())


def _misuse(tracer):
    span = tracer.start_span("span")
    with suppress(TypeError):
        span.set_attribute("a")
    with suppress(TypeError):
        tracer.start_span("span", attributes=5)
    with suppress(TypeError):
        tracer.start_as_current_span("span", no_such=1)
    scope = tracer.start_as_current_span("span", attributes=5)
    with suppress(TypeError):
        scope.__enter__()
    span.end()


PATHS = {
    "start and end": (_start_and_end, {}, 1),
    "current": (_current, {}, 4),
    "explicit context": (_explicit_context, {}, 5),
    "everything": (_everything, {}, 8),
    "looked into": (_looked_into, {}, 20),
    "simple processor": (_start_and_end, {"processor": "simple"}, 20),
    "limits": (_everything, {"span_limits": SpanLimits(max_span_attributes=1, max_events=0, max_links=0)}, 40),
    "dropped": (_current, {"sampler": sampling.ALWAYS_OFF}, 3),
    "record only": (_current, {"sampler": sampling.StaticSampler(sampling.Decision.RECORD_ONLY)}, 5),
    "exception": (_exception, {}, 20),
    "recorded": (_recorded, {}, 40),
    "used": (_used, {}, 4),
    "decorated": (_decorated, {}, 20),
    "dropped scope": (_dropped_scope, {}, 8),
    "generator": (_generator, {}, 10),
    "misuse": (_misuse, {}, 100),
}

# One of each kind of span, and what raises.
FEW = {"current", "everything", "dropped", "exception", "misuse"}

MOST_MEGABYTES = 8


def _resident():
    """Megabytes that the process occupies."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


def _held():
    """Objects and blocks that the interpreter holds."""
    for _ in range(3):
        gc.collect()
    return len(gc.get_objects()), sys.getallocatedblocks()


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize(
    "path", [path if path in FEW else pytest.param(path, marks=pytest.mark.slow) for path in PATHS]
)
def test_memory_stays_flat(path, amount, caplog):
    """However many spans take a path, the objects, blocks and megabytes held before and after are the same."""
    caplog.set_level("CRITICAL")
    work, settings, cost = PATHS[path]
    # In the default profile, the slower a path the fewer spans take it.
    rounds = amount(100_000 // cost, 1_000_000)
    provider = _provider(**settings)
    tracer = provider.get_tracer("leaks")
    for _ in range(3000):
        work(tracer)
    provider.force_flush()
    caplog.clear()
    # A process that other tests left large takes pages for itself now and then. A leak takes them each time.
    for is_last in (False, False, True):
        before, resident = _held(), _resident()
        for number in range(rounds):
            work(tracer)
            if number % 1000 == 0:
                provider.force_flush()
        provider.force_flush()
        caplog.clear()
        after = _held()
        assert after[0] - before[0] < 100
        assert after[1] - before[1] < 300
        if (grown := _resident() - resident) < MOST_MEGABYTES:
            break
        assert not is_last, grown
    provider.shutdown()


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("work", [_start_and_end, _current, _everything, _exception, _used, _dropped_scope, _misuse])
def test_references_are_balanced(work):
    """What all spans share (their tracer, classes, names, contexts) has as many references after as before."""
    provider = _provider()
    tracer = provider.get_tracer("references")
    plan = tracer.start_span("warm up").plan
    batch = provider._active_span_processor._span_processors[0]._batch_processor
    shared = {
        "tracer": tracer,
        "span class": plan.span_class,
        "event class": plan.event_class,
        "attributes": ATTRIBUTES,
        "value": ATTRIBUTES["list"],
        "span context class": trace.SpanContext,
        "context class": type(context_api.get_current()),
        "queue": batch._queue,
        "resource": provider.resource,
        "trace state": trace.DEFAULT_TRACE_STATE,
        "kind": trace.SpanKind.SERVER,
        "status code": trace.StatusCode.ERROR,
        "plan": plan,
        "error": ValueError,
    }
    if FREE_THREADED:
        # There, each thread counts references to classes by itself.
        shared = {name: value for name, value in shared.items() if not isinstance(value, type)}

    def counts():
        provider.force_flush()
        gc.collect()
        return {name: sys.getrefcount(value) for name, value in shared.items()}

    for _ in range(10):
        work(tracer)
    before = counts()
    for _ in range(500):
        work(tracer)
    after = counts()
    assert {name: after[name] - before[name] for name in after if abs(after[name] - before[name]) > 5} == {}
    provider.shutdown()


class _Local:
    """Something that a frame holds on to."""


def _fail_with(local, levels=3):
    if levels:
        _fail_with(local, levels - 1)
    raise ValueError("it failed")


def _by_scope(tracer, local):
    with suppress(ValueError), tracer.start_as_current_span("span") as span:
        _fail_with(local)
    return span


def _by_hand(tracer, local):
    span = tracer.start_span("span")
    with suppress(ValueError):
        try:
            _fail_with(local)
        except ValueError as error:
            span.record_exception(error)
            raise
    return span


def _chained(tracer, local):
    span = tracer.start_span("span")
    try:
        try:
            _fail_with(local)
        except ValueError as error:
            raise LookupError("chained") from error
    except LookupError as error:
        span.record_exception(error)
    return span


def _by_span(tracer, local):
    with suppress(ValueError), tracer.start_span("span") as span:
        _fail_with(local)
    return span


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("record", [_by_scope, _by_hand, _chained, _by_span])
def test_an_exception_is_let_go_of(record):
    """Once handled, a recorded exception and all its frames held are gone, while the span waits to be exported."""
    tracer = _provider().get_tracer("exceptions")
    local = _Local()
    gone = weakref.ref(local)
    gc.collect()
    gc.disable()
    try:
        span = record(tracer, local)
        del local
        assert gone() is None
    finally:
        gc.enable()
    assert "_fail_with(local, levels - 1)" in span.events[0].attributes["exception.stacktrace"]


@pytest.mark.usefixtures("instrumented")
def test_a_span_is_freed_by_its_last_reference():
    """Spans make no reference cycles: they go when the exporter is done with them, without the collector."""
    provider = _provider()
    tracer = provider.get_tracer("cycles")
    gc.collect()
    gc.disable()
    try:
        with tracer.start_as_current_span("outer", attributes=ATTRIBUTES, links=LINKS) as span:
            span.add_event("event", ATTRIBUTES)
            inner = tracer.start_span("inner")
            inner.end()
        spans = weakref.ref(span), weakref.ref(inner)
        provider.force_flush()
        del span, inner
        assert [each() for each in spans] == [None, None]
    finally:
        gc.enable()


@pytest.mark.usefixtures("instrumented")
def test_a_tracer_is_freed():
    """Providers and tracers that nobody holds are not held by us."""
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("freed")
    with tracer.start_as_current_span("span"):
        pass
    gone = weakref.ref(provider), weakref.ref(tracer)
    del provider, tracer
    gc.collect()
    assert [each() for each in gone] == [None, None]


@pytest.mark.usefixtures("unfrozen")
def test_no_reference_to_a_type_of_cython_s_is_left_by_a_call(instrumented, core):
    """A generator in compiled code leaves one: what is done for each call has none."""
    if core == "py":
        pytest.skip("nothing is compiled")
    del instrumented
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.metrics.view import View
    from opentelemetry.sdk.trace import TracerProvider

    span = TracerProvider(shutdown_on_exit=False).get_tracer("types").start_span("types")
    view = View(instrument_name="*", attribute_keys={"a"})
    meters = MeterProvider([InMemoryMetricReader()], views=[view], shutdown_on_exit=False)
    counter = meters.get_meter("types").create_counter("types")
    odd = {"": 1, "a": 2}

    def call():
        span.set_attributes(odd)
        span.add_event("event", odd)
        counter.add(1, {"a": 1, "b": 2})

    def references():
        types = [
            each
            for each in gc.get_objects()
            # A type may have none.
            if type(each) is type and str(getattr(each, "__module__", "")).startswith("_cython_")
        ]
        return sum(map(sys.getrefcount, types))

    call()
    before = references()
    for _ in range(500):
        call()

    after = references()
    assert after - before < 50
