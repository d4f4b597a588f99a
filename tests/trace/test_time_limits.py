"""What arrives in the midst of a span's code reaches the host, and leaves no span open or current."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress

import pytest
from interrupting import Limit, interrupt
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider


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


HOSTS = [left, raising, nested, proxied, decorated]


@pytest.fixture
def provider(instrumented):
    """A tracer provider."""
    del instrumented
    return TracerProvider(shutdown_on_exit=False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("core", ["py"], indirect=True)  # nothing arrives in compiled code
def test_where_the_interpreter_runs_signal_handlers(provider, host):
    """The host gets it, with its context, and each span has ended; scopes that were left have no finalizer."""
    tracer = provider.get_tracer("host")
    wrong = interrupt(provider, lambda: host(tracer), expected=(KeyError,))
    if host is nested:
        # The collector leaves the inner block after the outer one, as stock's.
        wrong = [each for each in wrong if not each.startswith(" current at Scope.__exit__ ")]
    assert wrong == []


def test_while_a_full_batch_is_announced(exporting):
    """The lock of the event that wakes the exporter's thread is released: the next full batch would wait for ever."""
    with exporting() as (provider, _):
        [processor] = provider._active_span_processor._span_processors
        batch, tracer = processor._batch_processor, provider.get_tracer("host")
        tracer.start_span("before").end()
        (hot,) = tracer._otel_fastpath_plan.on_end
        hot.max_batch = 1
        lock = batch._worker_awaken._cond._lock

        def arrive(frame, event, _argument):
            if event == "return" and lock.locked() and frame.f_code.co_filename == threading.__file__:
                raise Limit
            return arrive

        sys.settrace(arrive)
        try:
            with suppress(Limit):
                tracer.start_span("after").end()
        finally:
            sys.settrace(None)
        # That thread may hold it for a moment; what has no other holder is given back, or the shutdown would wait.
        is_free = lock.acquire(timeout=5)
        lock.release()
        assert is_free


def test_thrown_into_a_generator(provider):
    """Whose span is current."""
    spans = []

    def generator():
        with provider.get_tracer("host").start_as_current_span("generator") as span:
            spans.append(span)
            yield

    before = context.get_current()
    running = generator()
    next(running)
    with pytest.raises(Limit):
        running.throw(Limit)
    assert context.get_current() == before
    assert not spans[0].is_recording()


def test_thrown_into_a_greenlet(provider):
    """Whose span is current: the other one's context is its own."""
    greenlets = pytest.importorskip("greenlet")
    spans = []

    def waiting():
        with provider.get_tracer("host").start_as_current_span("greenlet") as span:
            spans.append(span)
            greenlets.getcurrent().parent.switch()

    before = context.get_current()
    made = greenlets.greenlet(waiting)
    made.switch()
    with pytest.raises(Limit):
        made.throw(Limit)
    assert context.get_current() == before
    assert not spans[0].is_recording()
