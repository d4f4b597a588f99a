"""What the cores use again, contexts, scopes and dropped spans: only what nobody can tell from a new one."""

from __future__ import annotations

import contextvars
import weakref

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

pytestmark = pytest.mark.usefixtures("instrumented")


@pytest.fixture(params=[ALWAYS_ON, ALWAYS_OFF], ids=["recorded", "dropped"])
def tracer(request):
    """A tracer of either kind of spans."""
    return TracerProvider(sampler=request.param, shutdown_on_exit=False).get_tracer("test")


def some_spans(tracer):
    """Whatever can be used again is."""
    for number in range(20):
        with tracer.start_as_current_span(f"outer {number}"), tracer.start_as_current_span("inner"):
            pass


def test_a_context_that_somebody_keeps_stays_as_it_is(tracer):
    """By name, in a copy of the whole context, or behind a weak reference."""
    with tracer.start_as_current_span("kept") as kept:
        by_name = context_api.get_current()
        copied = contextvars.copy_context()
    with tracer.start_as_current_span("watched") as watched:
        watching = weakref.ref(context_api.get_current())
    some_spans(tracer)

    assert trace.get_current_span(by_name) is kept
    assert copied.run(trace.get_current_span) is kept
    assert watching() is None or trace.get_current_span(watching()) is watched


def test_what_is_set_on_a_context_is_not_seen_on_the_next(tracer):
    """Stock's class allows it."""
    with tracer.start_as_current_span("marked"):
        context_api.get_current().mark = "mine"
    with tracer.start_as_current_span("next"):
        assert not hasattr(context_api.get_current(), "mark")


def test_a_span_is_freed_when_its_block_is_left(tracer):
    """With everything that hangs on it, also if something was raised."""

    def work(error):
        with tracer.start_as_current_span("span") as span:
            spans.append(weakref.ref(span))
            if error is not None:
                raise error

    spans = []
    work(None)
    with pytest.raises(KeyError):
        work(KeyError)

    assert [span() for span in spans] == [None, None]


def test_a_scope_that_somebody_keeps_is_used_once(tracer):
    """The next one is another."""
    kept = tracer.start_as_current_span("kept")
    with kept:
        pass
    some_spans(tracer)

    assert tracer.start_as_current_span("next") is not kept
    with pytest.raises(AttributeError, match="used once"):
        kept.__enter__()
    some_spans(tracer)
    left = tracer.start_as_current_span("left")
    with left:
        pass
    # Once more, while it waits to be used again.
    assert left.__exit__(KeyError, KeyError(), None) is False
    assert left.__exit__(None, None, None) is False
    del left
    some_spans(tracer)
    with tracer.start_as_current_span("after") as span:
        assert trace.get_current_span() is span


def test_a_span_that_somebody_keeps_stays_as_it_is(tracer):
    """By name, by its context, with something set on it, or behind a weak reference."""
    with tracer.start_as_current_span("kept") as kept:
        known = kept.get_span_context()
    with tracer.start_as_current_span("in a context"):
        context = context_api.get_current()
        known_there = trace.get_current_span().get_span_context()
    with tracer.start_as_current_span("marked"):
        trace.get_current_span().mark = "mine"
    seen = []
    for _ in range(20):
        with tracer.start_as_current_span("next"):
            assert not hasattr(trace.get_current_span(), "mark")
            seen.append(trace.get_current_span().get_span_context())

    assert kept.get_span_context() is known
    assert trace.get_current_span(context).get_span_context() is known_there
    assert len({span.span_id for span in (known, known_there, *seen)}) == 22


def test_a_context_changed_by_hand_has_the_next_span(tracer):
    """Whatever was put in the place of the last one."""
    for number in range(5):
        with tracer.start_as_current_span("changed"):
            dict.__setitem__(context_api.get_current(), next(iter(context_api.get_current())), trace.INVALID_SPAN)
        with tracer.start_as_current_span(f"next {number}") as span:
            assert trace.get_current_span() is span


def test_spans_of_two_tracers_in_turn(tracer):
    """A dropped one is not taken for one that is recorded, nor the other way round."""
    other = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer("dropping")
    recording = []
    for which in (tracer, other, other, tracer, other, tracer):
        with which.start_as_current_span("outer"), which.start_as_current_span("inner"):
            recording.append(trace.get_current_span().is_recording())

    is_recorded = recording[0]
    assert recording == [is_recorded, False, False, is_recorded, False, is_recorded]


def test_a_runtime_context_put_in_the_place_of_the_first(tracer, monkeypatch):
    """It is seen at once, and so is the first when it is back."""
    some_spans(tracer)
    first = context_api._RUNTIME_CONTEXT
    second = type(first)()
    for runtime in (second, first, second):
        monkeypatch.setattr(context_api, "_RUNTIME_CONTEXT", runtime)
        with tracer.start_as_current_span("there") as span:
            assert trace.get_current_span() is span
            assert dict(first.get_current()) == ({} if runtime is second else dict(runtime.get_current()))
        assert trace.get_current_span() is trace.INVALID_SPAN


def test_an_error_after_scopes_were_used_again(tracer):
    """The arguments that were left out are those of stock: the exception is recorded, the status is set."""
    some_spans(tracer)
    with pytest.raises(KeyError), tracer.start_as_current_span("failing") as span:
        raise KeyError

    if hasattr(span, "events"):
        assert [event.name for event in span.events] == ["exception"]
        assert span.status.status_code is trace.StatusCode.ERROR
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_scope_that_decorates_is_never_entered_itself(tracer):
    """Each call has its own, however often the function is called inside itself."""
    seen = []

    @tracer.start_as_current_span("decorated")
    def work(depth):
        seen.append(trace.get_current_span().get_span_context().span_id)
        if depth:
            work(depth - 1)

    work(3)
    work(0)

    assert len(set(seen)) == len(seen) == 5
    assert trace.get_current_span() is trace.INVALID_SPAN
