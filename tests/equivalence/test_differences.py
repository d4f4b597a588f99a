"""Where we do not do what stock does, and why. Each is a line in docs/differences.md."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from contextlib import suppress

import pytest
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan
from stock_or_fastpath import stock


class _Holding(SpanExporter):
    def __init__(self):
        self.spans = []

    def export(self, spans):
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


@pytest.fixture
def batched(fast):
    """A function that runs a scenario with one batch processor: stock, then fast."""
    del fast

    def run(scenario):
        results = []
        for is_stock in (True, False):
            provider = TracerProvider(shutdown_on_exit=False)
            exporter = _Holding()
            provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
            if is_stock:
                with stock():
                    scenario(provider.get_tracer("x"))
            else:
                scenario(provider.get_tracer("x"))
            provider.shutdown()
            results.append(exporter.spans)
        return results

    return run


def test_the_span_itself_is_queued(batched):
    """Batch processors queue the ended span, not a read-only copy of it: 2,600 bytes less, and it is read-only too."""
    expected, found = batched(lambda tracer: tracer.start_span("a").end())
    assert type(expected[0]) is ReadableSpan
    assert isinstance(found[0], ReadableSpan)
    assert not found[0].is_recording()


def test_private_fields_written_after_the_end(batched):
    """Who writes a private field of an ended span that waits in the queue writes what is exported."""

    def scenario(tracer):
        span = tracer.start_span("a")
        span.end()
        span._name = "b"

    expected, found = batched(scenario)
    assert (expected[0].name, found[0].name) == ("a", "b")


@pytest.mark.skipif(not hasattr(BoundedAttributes, "_set_items"), reason="before 1.43 attributes stay mutable")
def test_a_span_whose_end_is_taken_back(batched):
    """It takes attributes again; stock's container of them stays immutable."""

    def scenario(tracer):
        span = tracer.start_span("a")
        span.end()
        span._end_time = None
        with suppress(TypeError):
            span.set_attribute("late", 1)

    expected, found = batched(scenario)
    assert (dict(expected[0].attributes), dict(found[0].attributes)) == ({}, {"late": 1})


@pytest.mark.skipif(not hasattr(BoundedAttributes, "__deepcopy__"), reason="before 1.43 no span can be copied")
def test_a_live_span_can_be_copied(batched):
    """copy.deepcopy of a live span gives a read-only span; stock's fails on its lock."""
    raised = []

    def scenario(tracer):
        try:
            raised.append(type(copy.deepcopy(tracer.start_span("a", attributes={"a": [1]}))))
        except TypeError as error:
            raised.append(type(error))

    batched(scenario)
    assert raised == [TypeError, ReadableSpan]


@pytest.mark.skipif(not hasattr(BoundedAttributes, "_set_items"), reason="before 1.43 no value is asked for its text")
def test_no_lock_is_held_around_user_code(batched):
    """A value whose str() uses the span deadlocks stock; here it does not."""

    class Nosy:
        def __init__(self, span):
            self.span = span

        def __str__(self):
            self.span.set_attribute("inner", 1)
            return "nosy"

    def scenario(tracer):
        span = tracer.start_span("a")
        thread = threading.Thread(target=span.set_attribute, args=("outer", Nosy(span)), daemon=True)
        thread.start()
        # Stock's, the first, never ends; ours may take its time on a busy machine.
        thread.join(60 if finished else 0.2)
        finished.append(not thread.is_alive())
        if not thread.is_alive():
            span.end()

    finished = []
    _, found = batched(scenario)
    assert finished == [False, True]
    assert dict(found[0].attributes) == {"inner": 1, "outer": "nosy"}


def test_source_edited_under_a_running_process(batched, tmp_path):
    """A frame is shown with the source it was first shown with; stock shows other lines of the edited file."""
    path = tmp_path / "edited.py"
    path.write_text("def fail():\n    raise ValueError\n", encoding="utf-8")
    namespace = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)  # noqa: S102  # a module of its own

    def scenario(tracer):
        path.write_text("def fail():\n    raise ValueError\n", encoding="utf-8")
        for _ in range(2):
            with suppress(ValueError), tracer.start_as_current_span("a"):
                namespace["fail"]()
            # Read now: the text is made when it is read.
            texts.append(exporter_sees(tracer))
            path.write_text("# a longer first line\ndef fail():\n    raise ValueError\n", encoding="utf-8")

    texts = []
    batched(scenario)
    assert ["raise ValueError\n" in text for text in texts] == [True, False, True, True]


def exporter_sees(tracer):
    """The stack trace of the last span that ended."""
    span = tracer.span_processor._span_processors[0]._batch_processor._queue[0]
    return span.events[0].attributes["exception.stacktrace"]


def test_a_dropped_span_is_of_a_subclass(fast):
    """Its span context is made once somebody asks. Only who compares the very class can tell."""
    del fast
    tracer = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer("x")
    with stock():
        expected = tracer.start_span("a")
    found = tracer.start_span("a")

    assert type(expected) is NonRecordingSpan
    assert type(found) is not NonRecordingSpan
    assert isinstance(found, NonRecordingSpan)
    assert type(found).__name__ == type(found).__qualname__ == "NonRecordingSpan"
    assert repr(found) == repr(NonRecordingSpan(found.get_span_context()))
    for copied in (copy.copy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301  # our own
        assert type(copied) is NonRecordingSpan
        assert copied.get_span_context() == found.get_span_context()


def test_compiled_replacements_are_no_python_functions(fast):
    """What asks for the type sees it; what asks for the signature sees stock's."""
    with stock():
        original = inspect.signature(Tracer.start_span)

    assert inspect.isfunction(Tracer.start_span) == (fast == "py")
    assert inspect.signature(Tracer.start_span) == original
