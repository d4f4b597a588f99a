"""Calls of wrappers right under a parent that is not of this core: no fault, and no way through stock."""

from __future__ import annotations

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider, _tracer_metrics
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import NonRecordingSpan, SpanContext, TraceFlags

from otel_fastpath import compiled as cores
from otel_fastpath.wrapping import call as calls

TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331


def extracted(flags):
    """A context as the propagator makes it of a request's header."""
    return TraceContextTextMapPropagator().extract({"traceparent": f"00-{TRACE:032x}-{SPAN:016x}-{flags}"})


def local(flags):
    """A context with a span of stock's that records nothing."""
    parent = SpanContext(TRACE, SPAN, is_remote=False, trace_flags=TraceFlags(int(flags, 16)))
    return trace.set_span_in_context(NonRecordingSpan(parent), context_api.Context())


def is_none_of_its_own(span, context):
    """Whether the current span is still the parent.

    Releases of the SDK that cannot leave out their own metrics count each span: it is started there, and dropped.
    """
    if hasattr(_tracer_metrics, "NoOpTracerMetrics"):
        return span is trace.get_current_span(context)
    return isinstance(span, NonRecordingSpan) and span.get_span_context().trace_id == TRACE


@pytest.fixture(params=[extracted, local])
def parent(request):
    """Makes a context of each kind, given the flags of its span."""
    return request.param


@pytest.fixture
def started(instrumented, no_faults):
    """`started(context, sampler)`: the span that is current in a wrapped call under it."""
    del instrumented

    def call(context, sampler):
        provider = TracerProvider(sampler, shutdown_on_exit=False)
        telemetry = calls.WrapperTelemetry(provider.get_tracer("wrapper"))
        token = context_api.attach(context)
        try:
            made = calls.new()
            calls.begin(made, telemetry, "get", {"a": 1})
            span = trace.get_current_span()
            made.end()
        finally:
            context_api.detach(token)
            provider.shutdown()
        return span

    yield call
    assert no_faults.counts() == {}


def test_under_a_sampled_parent_the_span_is_one_of_ours(started, parent, core, logged):
    """With the parent's trace; nothing is logged."""
    span = started(parent("01"), ParentBased(ALWAYS_ON))

    assert isinstance(span, cores.load("trace.spans.recorded", core).SpanState)
    assert (span.context.trace_id, span.parent.span_id) == (TRACE, SPAN)
    assert span.attributes == {"a": 1}
    assert logged() == []


def test_under_a_parent_that_is_not_sampled_there_is_no_span(started, parent, logged):
    """The parent stays the current span: stock's way would have put a span of its own there."""
    context = parent("00")

    assert is_none_of_its_own(started(context, ParentBased(ALWAYS_ON)), context)
    assert logged() == []


def test_a_sampler_that_records_under_a_parent_that_is_not_sampled(started, parent, core):
    """It is the sampler's answer that counts, not the parent's flag, and the other way round."""
    context = parent("01")

    assert isinstance(started(parent("00"), ALWAYS_ON), cores.load("trace.spans.recorded", core).SpanState)
    assert is_none_of_its_own(started(context, ALWAYS_OFF), context)


class Counting(Sampler):
    """Counts how often it is asked, and samples everything."""

    def __init__(self):
        self.asked = 0

    def should_sample(self, *args, **kwargs):
        """Count it."""
        del args, kwargs
        self.asked += 1
        return SamplingResult(Decision.RECORD_AND_SAMPLE)

    def get_description(self):
        """Its name."""
        return "Counting"


CONTEXTS = {
    "root": context_api.Context,
    "remote_parent_sampled": lambda: extracted("01"),
    "remote_parent_not_sampled": lambda: extracted("00"),
    "local_parent_sampled": lambda: local("01"),
    "local_parent_not_sampled": lambda: local("00"),
}


@pytest.mark.parametrize("part", CONTEXTS)
def test_the_sampler_that_parent_based_would_ask_is_asked(instrumented, no_faults, part):
    """Below each kind of parent that stock made; the others are not."""
    del instrumented
    asked, others = Counting(), Counting()
    sampler = ParentBased(**{**dict.fromkeys(CONTEXTS, others), part: asked})
    tracer = TracerProvider(sampler=sampler, shutdown_on_exit=False).get_tracer("asked")

    span = tracer.start_span("span", context=CONTEXTS[part]())

    assert span.is_recording()
    assert (asked.asked, others.asked) == (1, 0)
    assert no_faults.counts() == {}
