"""Plans of tracers that are copied from that of another tracer of their provider."""

from __future__ import annotations

import copy

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, TraceIdRatioBased

pytestmark = pytest.mark.usefixtures("instrumented")


@pytest.fixture
def provided():
    """A provider with a sampler, and what its exporter got."""

    def make(sampler):
        provider, exporter = TracerProvider(sampler=sampler, shutdown_on_exit=False), InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        return provider, exporter

    return make


def test_each_tracer_has_its_own_scope(provided):
    """Also beyond the number of tracers that keep their plans, and when they come again."""
    provider, exporter = provided(ALWAYS_ON)
    tracers = [provider.get_tracer(f"tracer.{number}", str(number)) for number in range(1_100)]

    for _ in range(2):
        for tracer in tracers:
            tracer.start_span("span").end()

    scopes = [
        (span.instrumentation_scope.name, span.instrumentation_scope.version) for span in exporter.get_finished_spans()
    ]
    assert scopes == [(f"tracer.{number}", str(number)) for number in range(1_100)] * 2
    assert sum("_otel_fastpath_plan" in vars(tracer) for tracer in tracers) <= 1_024


@pytest.mark.parametrize(
    "change",
    [
        lambda sampler: setattr(sampler, "_root", ALWAYS_OFF),
        lambda sampler: setattr(sampler._root, "should_sample", ALWAYS_OFF.should_sample),
        lambda sampler: setattr(sampler, "should_sample", ALWAYS_OFF.should_sample),
    ],
    ids=["a part", "a method of a part", "a method"],
)
def test_a_sampler_that_was_changed(provided, change):
    """A tracer that is made later samples as the sampler does now."""
    sampler = ParentBased(TraceIdRatioBased(1.0))
    provider, exporter = provided(sampler)
    provider.get_tracer("before").start_span("recorded").end()

    change(sampler)
    provider.get_tracer("after").start_span("dropped").end()

    assert [span.name for span in exporter.get_finished_spans()] == ["recorded"]


def test_a_processor_that_was_added(provided):
    """Spans of a tracer that is made later reach it."""
    provider, exporter = provided(ALWAYS_ON)
    provider.get_tracer("before").start_span("first").end()
    later = InMemorySpanExporter()

    provider.add_span_processor(SimpleSpanProcessor(later))
    provider.get_tracer("after").start_span("second").end()

    assert [span.name for span in exporter.get_finished_spans()] == ["first", "second"]
    assert [span.name for span in later.get_finished_spans()] == ["second"]


def test_a_tracer_with_parts_of_its_own(provided):
    """Its plan is not that of the others: neither theirs nor its own changes."""
    provider, exporter = provided(ALWAYS_ON)
    first, odd, last = (provider.get_tracer(name) for name in ("first", "odd", "last"))
    first.start_span("first").end()
    odd.sampler = ALWAYS_OFF
    odd.start_span("odd").end()
    last.start_span("last").end()
    last.start_span = lambda *_arguments, **_keywords: trace.INVALID_SPAN
    with last.start_as_current_span("replaced"):
        pass

    assert [span.name for span in exporter.get_finished_spans()] == ["first", "last"]


def test_nothing_stays_on_tracers_and_processors(instrumented, provided):
    """After `uninstrument()`, also what the tracers of a provider share."""
    provider, exporter = provided(ALWAYS_ON)
    batch = BatchSpanProcessor(exporter)
    provider.add_span_processor(batch)
    tracer = provider.get_tracer("known")

    def on_them():
        kept = (tracer, provider._active_span_processor, batch)
        return [name for each in kept for name in vars(each) if name.startswith("_otel_fastpath")]

    tracer.start_span("ours").end()
    assert len(on_them()) == 4
    instrumented.uninstrument()
    assert on_them() == []
    tracer.start_span("stock's").end()
    assert on_them() == []
    batch.shutdown()


def test_a_copy_of_a_tracer(provided):
    """It has a plan of its own: what is set on it counts for it, and for nothing else."""
    provider, exporter = provided(ALWAYS_ON)
    tracer = provider.get_tracer("first")
    tracer.start_span("before").end()

    other = copy.copy(tracer)
    vars(other)["sampler"] = ALWAYS_OFF
    for _ in range(2):
        other.start_span("dropped").end()
        tracer.start_span("recorded").end()

    assert [span.name for span in exporter.get_finished_spans()] == ["before", "recorded", "recorded"]
