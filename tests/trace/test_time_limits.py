"""What arrives in the midst of a span's code reaches the host, and leaves no span open or current."""

from __future__ import annotations

import gc
import sys

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider


class Limit(Exception):  # noqa: N818  # as the host calls it
    """The host's."""


class Started(SpanProcessor):
    """Keeps the spans that have started."""

    def __init__(self):
        self.spans = []

    def on_start(self, span, parent_context=None):  # noqa: ARG002  # called by keyword
        """One more."""
        self.spans.append(span)


def left(tracer):
    """A block that ends."""
    with tracer.start_as_current_span("left"):
        pass


def raising(tracer):
    """A block that raises."""
    with tracer.start_as_current_span("raising"):
        raise KeyError("the host's own")


def nested(tracer):
    """A block in a block."""
    with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner"):
        pass


def proxied(_tracer):
    """A block of a tracer that was there before the provider."""
    with trace.ProxyTracer("proxied").start_as_current_span("proxied"):
        pass


def decorated(tracer):
    """A decorated function."""

    @tracer.start_as_current_span("decorated")
    def function():
        return 1

    function()


def _set(wanted):
    if context.get_current() != wanted:
        context.attach(wanted)


HOSTS = [left, raising, nested, proxied, decorated]


@pytest.fixture
def started(instrumented):
    """A processor, and a tracer of its provider."""
    del instrumented
    provider, processor = TracerProvider(shutdown_on_exit=False), Started()
    provider.add_span_processor(processor)
    return processor, provider.get_tracer("host")


def run(host, tracer, at):
    """Run the host with `at(frame)` called at the entry of each function of this package; gives what it raised."""

    def trace_calls(frame, event, _argument):
        if event == "call" and str(frame.f_globals.get("__name__")).startswith("otel_fastpath"):
            at(frame)

    before = sys.gettrace()
    sys.settrace(trace_calls)
    try:
        host(tracer)
    except Exception as error:
        return type(error)
    finally:
        sys.settrace(before)
    return None


@pytest.mark.parametrize("host", HOSTS)
def test_at_the_entry_of_each_function(started, host, monkeypatch):
    """Where the interpreter runs signal handlers: the host gets it, with its context, and each span has ended."""
    processor, tracer = started
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    run(host, tracer, lambda _frame: None)
    number, places = 0, []
    while True:
        count = 0

        def at(frame, number=number):
            nonlocal count
            count += 1
            if count == number + 1:
                places.append(f"{number} {frame.f_code.co_name}")
                raise Limit

        before = context.get_current()
        processor.spans.clear()
        raised = run(host, tracer, at)
        gc.collect()
        if count <= number:
            break
        assert raised is Limit, places[-1]
        if host is not nested or not places[-1].endswith("__exit__"):
            assert context.get_current() == before, places[-1]
        # Otherwise the collector leaves the inner block after the outer one, as stock's.
        _set(before)
        assert [span.name for span in processor.spans if span.is_recording()] == [], places[-1]
        number += 1
    assert unraisable == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_scope_that_was_left_has_no_finalizer(started, host):
    """An exception that arrives in one reaches nobody."""
    _, tracer = started
    entered = []
    run(host, tracer, lambda frame: entered.append(frame.f_code.co_name))
    gc.collect()
    assert "__del__" not in entered


def test_thrown_into_a_generator(started):
    """Whose span is current."""
    processor, tracer = started

    def generator():
        with tracer.start_as_current_span("generator"):
            yield

    before = context.get_current()
    running = generator()
    next(running)
    with pytest.raises(Limit):
        running.throw(Limit)
    assert context.get_current() == before
    assert not processor.spans[0].is_recording()


def test_thrown_into_a_greenlet(started):
    """Whose span is current: the other one's context is its own."""
    greenlets = pytest.importorskip("greenlet")
    processor, tracer = started

    def waiting():
        with tracer.start_as_current_span("greenlet"):
            greenlets.getcurrent().parent.switch()

    before = context.get_current()
    made = greenlets.greenlet(waiting)
    made.switch()
    with pytest.raises(Limit):
        made.throw(Limit)
    assert context.get_current() == before
    assert not processor.spans[0].is_recording()
