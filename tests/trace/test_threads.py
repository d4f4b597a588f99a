"""Many threads: no span is lost or mixed up with another's, none is corrupted, and nothing raises."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, sampling

THREADS = 8


def together(work, threads=THREADS):
    """Call `work(number)` in threads that start at the same moment; raise what any of them raises."""
    barrier = threading.Barrier(threads)

    def run(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def _read(span):
    context, parent, attributes = span.context, span.parent, span.attributes
    above = parent and (parent.trace_id, parent.span_id)
    return span.name, (context.trace_id, context.span_id), above, (attributes["thread"], attributes["number"])


def test_no_span_is_lost_or_mixed(exporting, amount):
    """8 threads start and end spans of one provider: each is exported once, under its parent, with its own data."""
    pairs = amount(20_000, 100_000) // 2
    with exporting(_read) as (provider, got):
        tracer = provider.get_tracer("threads")

        def work(thread):
            for number in range(pairs):
                with tracer.start_as_current_span("outer", attributes={"thread": thread, "number": number}):
                    inner = tracer.start_span("inner")
                    inner.set_attribute("thread", thread)
                    inner.set_attributes({"number": number})
                    inner.end()

        together(work)
    assert len(got) == 2 * pairs * THREADS
    outer = {ids: data for name, ids, above, data in got if name == "outer" and above is None}
    assert sorted(outer.values()) == [(thread, number) for thread in range(THREADS) for number in range(pairs)]
    assert len({span_id for _, (_, span_id), _, _ in got}) == len(got)
    inner = [each for each in got if each[0] == "inner"]
    assert len(inner) == pairs * THREADS
    for _, (trace_id, _), above, data in inner:
        assert (above[0], outer[above]) == (trace_id, data)


@pytest.mark.usefixtures("switching")
def test_ended_once(exporting, amount, caplog):
    """Of threads that end one span at once, one ends it; the others are told that it is over."""
    rounds = amount(300, 3000)
    caplog.set_level(logging.ERROR, "opentelemetry.sdk.trace")
    warnings = Counter()
    logging.getLogger("opentelemetry.sdk.trace").addFilter(lambda record: warnings.update([record.msg]) or True)
    with exporting() as (provider, got):
        tracer = provider.get_tracer("ends")
        spans = [tracer.start_span(str(number)) for number in range(rounds)]
        together(lambda thread: [span.end(end_time=thread + 1) for span in spans])
        ends = [span.end_time for span in spans]
    assert sorted(int(span.name) for span in got) == list(range(rounds))
    assert [span.end_time for span in spans] == ends


def _hammer(span, thread, rounds):
    for number in range(rounds):
        span.set_attribute(f"{thread}.{number % 20}", number)
        span.set_attribute("shared", [thread, number])
        span.set_attributes({"several": thread, f"more.{thread}": (number, "x")})
        span.add_event(f"event {thread}", {"number": number})
        span.update_name(f"name {thread}.{number}")
        span.set_status(trace.StatusCode.ERROR, "text")
        span.record_exception(ValueError(number))
        for key in span.attributes:
            assert key
        for event in span.events:
            assert event.name


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize("limits", [{}, {"max_span_attributes": 10, "max_events": 20}])
def test_one_span_in_all_hands(exporting, amount, limits):
    """Threads that write, read and end one span at the same time never raise, and nothing changes once it ended."""
    with exporting(span_limits=SpanLimits(**limits)) as (provider, got):
        tracer = provider.get_tracer("one")
        logging.getLogger("opentelemetry.sdk.trace").disabled = True
        logging.getLogger("opentelemetry.attributes").disabled = True
        try:
            for _ in range(amount(5, 100)):
                span = tracer.start_span("one")
                pictures = []

                def work(thread, span=span, pictures=pictures):
                    _hammer(span, thread, 10)
                    if thread == 0:
                        span.end()
                        pictures.append((span.name, dict(span.attributes), len(span.events), span.end_time))
                    _hammer(span, thread, 10)

                together(work)
                after = (span.name, dict(span.attributes), len(span.events), span.end_time)
                assert pictures == [after]
        finally:
            logging.getLogger("opentelemetry.sdk.trace").disabled = False
            logging.getLogger("opentelemetry.attributes").disabled = False
    assert len(got) == amount(5, 100)


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize("watched", [False, True])
def test_everything_set_is_kept_or_counted(exporting, amount, watched):
    """Of attributes and events that threads add to one span, those not kept are counted as dropped."""
    each = amount(100, 2000)
    limits = SpanLimits(max_span_attributes=50, max_events=50)
    logging.getLogger("opentelemetry.attributes").disabled = True
    try:
        with exporting(span_limits=limits) as (provider, _):
            span = provider.get_tracer("counted").start_span("counted")

            def work(thread):
                for number in range(each):
                    span.set_attribute(f"{thread}.{number}", number)
                    span.set_attributes({f"{thread}.{number}.more": [number]})
                    span.add_event(f"{thread}.{number}")
                    if watched and number == each // 2:
                        len(span._attributes)
                        len(span._events)

            together(work)
            assert len(span.attributes) == 50
            assert len(span.events) == 50
            assert span.dropped_attributes == 2 * each * THREADS - 50
            assert span.dropped_events == each * THREADS - 50
    finally:
        logging.getLogger("opentelemetry.attributes").disabled = False


def test_what_threads_set_beyond_a_limit_is_dropped_and_counted(exporting):
    """The oldest of it, as stock does; where two took the last place at once, as only Python 3.10 lets them."""
    with exporting(span_limits=SpanLimits(max_span_attributes=2, max_events=2)) as (provider, _):
        span = provider.get_tracer("surplus").start_span("surplus", attributes={"a": 1, "b": 2})
        span.add_event("a")
        span.add_event("b")
        span.attribute_store["c"] = 3
        span.event_store.append(span.event_store[0])

        span.drop_surplus()

        assert dict(span.attributes) == {"b": 2, "c": 3}
        assert [event.name for event in span.events] == ["b", "a"]
        assert (span.dropped_attributes, span.dropped_events) == (1, 1)


@pytest.mark.usefixtures("switching")
def test_setting_all_again_loses_nothing(exporting, amount):
    """While some threads overwrite all attributes that a span has, what others add or overwrite stays."""
    rounds = amount(40, 1000)
    with exporting() as (provider, _):
        tracer = provider.get_tracer("again")
        for _ in range(rounds):
            span = tracer.start_span("again", attributes={"0": -1})

            def work(thread, span=span):
                for number in range(4):
                    if thread % 2:
                        span.set_attributes(dict.fromkeys(map(str, range(8)), number))
                    else:
                        span.set_attribute(f"{thread}.{number}", number)
                        span.set_attributes({f"{thread}.{number}": number, "0": number, f"{thread}.more": number})

            together(work)
            own = {f"{thread}.{what}" for thread in range(0, THREADS, 2) for what in (*range(4), "more")}
            assert set(span.attributes) == own | set(map(str, range(8)))
            span.end()


class _Counting(SpanProcessor):
    def __init__(self):
        self.started = Counter()
        self.ended = Counter()

    def on_start(self, span, parent_context=None):  # noqa: ARG002  # stock's interface
        self.started[span.context.span_id] += 1

    def on_end(self, span):
        self.ended[span.context.span_id] += 1


@pytest.mark.usefixtures("switching")
def test_configured_while_in_use(exporting, amount):
    """Processors and samplers that arrive while threads start spans reach the spans started after that, once each."""
    rounds = amount(500, 20_000)
    with exporting(lambda span: span.name) as (provider, got):
        tracer = provider.get_tracer("configured")
        added = _Counting()
        samplers = [sampling.ALWAYS_ON, sampling.DEFAULT_ON, sampling.TraceIdRatioBased(1)]

        def work(thread):
            for number in range(rounds):
                if thread == 0 and number == rounds // 2:
                    provider.add_span_processor(added)
                if thread == 1:
                    tracer.sampler = samplers[number % 3]
                if thread == 2:
                    tracer.resource = provider.resource
                with tracer.start_as_current_span(f"{thread}.{number}"):
                    pass

        together(work)
    assert Counter(got) == Counter(f"{thread}.{number}" for thread in range(THREADS) for number in range(rounds))
    assert set(added.started.values()) == set(added.ended.values()) == {1}
    assert added.started.keys() <= added.ended.keys()


@pytest.mark.usefixtures("switching")
def test_tracers_first_used_by_many(exporting):
    """Threads that use a new tracer at the same moment all get spans of it."""
    with exporting(lambda span: span.instrumentation_scope.name) as (provider, got):
        for number in range(50):
            tracer = provider.get_tracer(f"tracer {number}")
            together(lambda _, tracer=tracer: tracer.start_span("first").end())
    assert Counter(got) == {f"tracer {number}": THREADS for number in range(50)}
