"""The number of exceptions raised while a server span was open, as an attribute of that span."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading

import pytest

pytest.importorskip("opentelemetry.sdk.trace")

from opentelemetry import trace
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from otel_fastpath.exceptions import server_spans

ATTRIBUTE = "cpython.exceptions"
SERVER = {"kind": SpanKind.SERVER}


def fail(kind=LookupError, times=1):
    """Raise and handle some."""
    for _ in range(times):
        try:
            raise kind  # noqa: TRY301  # the subject
        except kind:
            pass


@pytest.fixture(params=["stock", "fastpath", "fastpath, batch"])
def spans(request):
    """With stock's spans and with ours: a provider whose ended spans can be looked at."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    processor = BatchSpanProcessor if request.param == "fastpath, batch" else SimpleSpanProcessor
    provider.add_span_processor(processor(exporter))
    provider.exporter = exporter
    if request.param != "stock":
        from otel_fastpath import FastpathInstrumentor

        FastpathInstrumentor().instrument(exceptions="off")
    yield provider
    if request.param != "stock":
        FastpathInstrumentor().uninstrument()
    provider.shutdown()


@pytest.fixture(params=[None, "py"], ids=["compiled", "python"])
def begin(request, start, spans):
    """Count per operation, with each kind of callback."""

    def call(**settings):
        assert start(request.param, tracer_provider=spans, operations=True, python=True, **settings)
        return spans.get_tracer("test")

    return call


@pytest.fixture
def counts(spans):
    """Name of each ended span -> the number it was given."""

    def ended():
        spans.force_flush()
        return {span.name: span.attributes.get(ATTRIBUTE) for span in spans.exporter.get_finished_spans()}

    return ended


def test_server_and_consumer_spans_get_the_number(begin, counts):
    """What a process does for others has the attribute, also if it is zero; other spans have not."""
    tracer = begin()
    for kind in SpanKind:
        with tracer.start_as_current_span(kind.name, kind=kind):
            fail(times=2)
    with tracer.start_as_current_span("calm", **SERVER):
        pass
    assert counts() == {"INTERNAL": None, "SERVER": 2, "CLIENT": None, "PRODUCER": None, "CONSUMER": 2, "calm": 0}


def test_only_its_own_time_counts(begin, counts):
    """Before, between and after operations nothing is counted for one; inner spans count for the server's."""
    tracer = begin()
    fail()
    with tracer.start_as_current_span("one", **SERVER):
        with tracer.start_as_current_span("inner"):
            fail()
        fail()
    fail()
    with tracer.start_as_current_span("two", **SERVER):
        fail()
    assert counts() == {"inner": None, "one": 2, "two": 1}


def test_what_is_skipped_or_filtered_does_not_count(begin, counts):
    """The number is of the same exceptions as the metric."""
    tracer = begin(skip=frozenset({"KeyError"}))
    with tracer.start_as_current_span("one", **SERVER):
        fail(KeyError)
        fail(LookupError)
    assert counts() == {"one": 1}


def test_nested_operations_count_for_both(begin, counts):
    """A server span inside another, as two layers of instrumentation make them: the outer has the inner's, too."""
    tracer = begin()
    with tracer.start_as_current_span("outer", **SERVER):
        fail()
        with tracer.start_as_current_span("inner", **SERVER):
            fail(times=2)
        fail()
    assert counts() == {"inner": 2, "outer": 4}


def test_tasks_count_for_the_operation_that_started_them(begin, counts):
    """Concurrent requests in one thread each have their own tasks' exceptions."""
    tracer = begin()

    async def part(times):
        for _ in range(times):
            await asyncio.sleep(0)
            fail()

    async def request(name, times):
        with tracer.start_as_current_span(name, **SERVER):
            async with asyncio.TaskGroup() as group:
                for _ in range(times):
                    group.create_task(part(times))
            await asyncio.to_thread(fail)
            await asyncio.get_running_loop().run_in_executor(None, fail)

    async def main():
        await asyncio.gather(*(request(f"request {times}", times) for times in range(5)))
        await part(3)

    asyncio.run(main())
    assert counts() == {f"request {times}": times * times + 2 for times in range(5)}


@pytest.mark.proves("exceptions.threads")
def test_threads_count_for_the_operation_that_started_them(begin, counts):
    """Threads, of subclasses too, and what they start, bring their exceptions home."""

    class Own(threading.Thread):
        def run(self):
            fail()
            nested = threading.Thread(target=fail)
            nested.start()
            nested.join()

    tracer = begin()
    with tracer.start_as_current_span("one", **SERVER):
        threads = [threading.Thread(target=fail, args=(KeyError, 2)), Own(), threading.Timer(0, fail)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    outside = threading.Thread(target=fail)
    outside.start()
    outside.join()
    assert counts() == {"one": 5}
    assert all("run" not in vars(thread) for thread in threads)


def test_a_pool_serves_operations_one_by_one(begin, counts):
    """The threads of a pool outlive the operation that they were started in."""
    tracer = begin()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for name in ("one", "two"):
            with tracer.start_as_current_span(name, **SERVER):
                pool.submit(fail, times=2).result()
                assert list(pool.map(lambda _: fail(), range(2))) == [None, None]
        pool.submit(fail).result()
        with tracer.start_as_current_span("three", **SERVER):
            pass
    assert counts() == {"one": 4, "two": 4, "three": 0}


@pytest.mark.proves("exceptions.thread_pool")
def test_a_call_in_a_pool_gets_what_it_was_given(begin):
    """Arguments, keyword arguments and result of a submitted call are its own."""
    tracer = begin()
    with concurrent.futures.ThreadPoolExecutor(1) as pool, tracer.start_as_current_span("one", **SERVER):
        result = pool.submit(lambda *args, **kwargs: (args, kwargs), 1, fn=2, self=3, operation=4, function=5).result()
    assert result == ((1,), {"fn": 2, "self": 3, "operation": 4, "function": 5})


def test_an_operation_that_ends_elsewhere_is_over(begin, counts):
    """A span that is ended in another context than it was started in leaves nothing open where it began."""
    tracer = begin()
    for number in range(5):
        span = tracer.start_span(f"span {number}", **SERVER)
        fail()
        contextvars.copy_context().run(span.end)
        fail()
    with tracer.start_as_current_span("last", **SERVER):
        fail()
    assert counts() == {**{f"span {number}": 1 for number in range(5)}, "last": 1}
    assert server_spans.current.get() is None or server_spans.current.get().closed


def test_the_attribute_is_there_at_a_span_limit(begin, counts, spans):
    """The attribute limit of the span holds."""
    spans._span_limits = SpanLimits(max_span_attributes=1)
    tracer = begin()
    spans.get_tracer("other")
    with tracer.start_as_current_span("one", **SERVER):
        fail()
    assert counts() == {"one": 1}


def test_a_span_that_is_not_recorded_costs_nothing(begin, counts):
    """Without a recording span there is no operation."""
    tracer = begin()
    with trace.use_span(trace.NonRecordingSpan(trace.INVALID_SPAN_CONTEXT)):
        fail()
    assert counts() == {}
    del tracer


def test_after_stop_spans_are_as_before(begin, counters, counts):
    """Stopped, the processor stays with its provider and does nothing, and the threading module is itself again."""
    before = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit
    tracer = begin()
    assert threading.Thread.start is not before[0]
    counters.stop()
    assert (threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit) == before
    with tracer.start_as_current_span("one", **SERVER):
        fail()
    assert counts() == {"one": None}


def test_a_restart_adds_no_second_processor(begin, counts, spans):
    """A provider gets the processor once."""
    begin()
    tracer = begin()
    assert len(spans._active_span_processor._span_processors) == 2
    with tracer.start_as_current_span("one", **SERVER):
        fail()
    assert counts() == {"one": 1}


def test_a_provider_that_starts_spans_on_other_threads_is_reported(start, logged):
    """The context variable cannot be set from there: one line says so."""
    provider = TracerProvider(active_span_processor=ConcurrentMultiSpanProcessor(1), shutdown_on_exit=False)
    start(tracer_provider=provider, operations=True)
    assert [line for line in logged() if "on other threads" in line]
    provider.shutdown()


@pytest.mark.proves("exceptions.tracer_provider")
def test_a_tracer_provider_that_is_set_later_gets_it(run_python):
    """Counting may start before the application sets its tracer provider."""
    found = run_python("""
        from otel_fastpath import exceptions
        exceptions.start(exceptions.Settings(operations=True))
        from opentelemetry.trace import SpanKind, get_tracer, set_tracer_provider
        from opentelemetry.sdk.trace import TracerProvider
        provider = TracerProvider(shutdown_on_exit=False)
        set_tracer_provider(provider)
        with get_tracer("test").start_as_current_span("one", kind=SpanKind.SERVER) as span:
            try: raise LookupError
            except LookupError: pass
        print(dict(span.attributes))
    """)
    assert found == "{'cpython.exceptions': 1}"


def test_spans_of_other_kinds_keep_the_short_way(start, core):
    """Beside batch processors, ours costs those spans nothing that it does nothing for: they are queued as they are."""
    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument(core=core, exceptions="off")
    provider = TracerProvider(shutdown_on_exit=False)
    try:
        provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
        start(tracer_provider=provider, operations=True)
        tracer = provider.get_tracer("test")
        queue = provider._active_span_processor._span_processors[0]._batch_processor._queue
        spans = [tracer.start_span(kind.name, kind=kind) for kind in SpanKind]
        for span in spans:
            span.end()
        queued = list(queue)
        kept = {span.name for span in spans if any(span is each for each in queued)}
        assert kept == {"INTERNAL", "CLIENT", "PRODUCER"}
        assert len(queued) == len(spans)
        # One that inherits from it may look at all spans.
        seen = []
        kind = type("Mine", (server_spans.ExceptionCountProcessor,), {"on_end": lambda _, span: seen.append(span.name)})
        provider.add_span_processor(kind())
        tracer.start_span("seen").end()
        assert seen == ["seen"]
    finally:
        FastpathInstrumentor().uninstrument()
        provider.shutdown()
