"""Spans as the fast path records them: their state, read directly, gives what stock reads from their properties."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import NonRecordingSpan, SpanKind, set_span_in_context
from otlpcheck.made import GOOD_CONTEXTS, LINKS, PLAIN, STATUSES, TAME, TEXTS, VALUES
from otlpcheck.seen import compare

from otel_fastpath.lazy import lazy
from otel_fastpath.otlp import patches_spans
from otel_fastpath.patching import faults

KEYS = st.text(min_size=1, max_size=4)
GIVEN = TAME | TAME | st.dictionaries(KEYS, VALUES, max_size=4)
OPERATIONS = st.one_of(
    st.tuples(st.just("set_attribute"), KEYS, PLAIN | VALUES),
    st.tuples(st.just("lazy"), KEYS, VALUES),
    st.tuples(st.just("set_attributes"), GIVEN),
    st.tuples(st.just("add_event"), TEXTS, st.none() | GIVEN, st.none() | st.integers(0, 2**64 - 1)),
    st.tuples(st.just("add_link"), GOOD_CONTEXTS, st.none() | GIVEN),
    st.tuples(st.just("record_exception"), st.sampled_from([ValueError("boom"), KeyError("é"), OSError()])),
    st.tuples(st.just("set_status"), STATUSES.filter(bool)),
    st.tuples(st.just("update_name"), TEXTS),
)
LIMIT = st.none() | st.integers(0, 4)
LIMITS = st.just(SpanLimits()) | st.builds(
    SpanLimits,
    max_span_attributes=LIMIT,
    max_event_attributes=LIMIT,
    max_link_attributes=LIMIT,
    max_events=LIMIT,
    max_links=LIMIT,
    max_attribute_length=LIMIT,
)
PROGRAMS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.none() | GIVEN,
        st.sampled_from(SpanKind),
        st.none() | GOOD_CONTEXTS,
        st.none() | st.lists(LINKS, max_size=2),
        st.lists(OPERATIONS, max_size=6),
        st.none() | st.integers(0, 2**64 - 1),
    ),
    max_size=5,
)


class Keep(SpanExporter):
    """Keeps what it is given."""

    def __init__(self):
        self.spans = []

    def export(self, spans):
        """Keep the spans."""
        self.spans += spans
        return SpanExportResult.SUCCESS


def parent_of(context):
    """A context with a span of this span context, or None."""
    return None if context is None else set_span_in_context(NonRecordingSpan(context))


def run(program, limits):
    """The spans that the program's operations record."""
    keep = Keep()
    provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
    processor = BatchSpanProcessor(keep, schedule_delay_millis=3_600_000)
    provider.add_span_processor(processor)
    tracers = [provider.get_tracer("a"), provider.get_tracer("b", "1"), provider.get_tracer("a", attributes={"k": 1})]
    for tracer, attributes, kind, parent, links, operations, end in program:
        span = tracers[tracer].start_span("name", parent_of(parent), kind, attributes, links)
        for name, *arguments in operations:
            if name == "lazy":
                key, value = arguments
                span.set_attribute(key, lazy(lambda value=value: value))
            else:
                getattr(span, name)(*arguments)
        span.end(end)
    provider.shutdown()
    return keep.spans


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("examples", [80, pytest.param(600, marks=pytest.mark.slow)])
def test_recorded_spans(instrumented, core, monkeypatch, examples):
    """Encoded first from the state and then from the properties, the same spans give the same bytes and log."""
    # A lazy value is cleaned, with the warnings of that, when it is made: for whoever encodes first.
    monkeypatch.setattr(logging.getLogger("opentelemetry.attributes"), "disabled", True)
    encode = patches_spans._encoder(core).encode

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(PROGRAMS, LIMITS)
    def check(program, limits):
        spans = run(program, limits)
        assert all(hasattr(span, "attribute_store") or type(span) is ReadableSpan for span in spans)
        compare(encode, lambda spans: encode_spans(spans).SerializePartialToString(), spans)

    before = faults.counts()
    check()
    assert faults.counts() == before
    assert instrumented.is_instrumented_by_opentelemetry


def test_a_lazy_value_is_made_once_and_encoded(instrumented, core):
    """Exporting twice formats once; what a property shows is what was sent."""
    calls = []

    def dump(value):
        calls.append(value)
        return json.dumps(value)

    [span] = run([(0, None, SpanKind.CLIENT, None, None, [], None)], SpanLimits())
    span.attribute_store["message"] = lazy(dump, [1, 2])
    encode = patches_spans._encoder(core).encode
    assert b"[1, 2]" in encode([span])
    assert encode([span]) == encode_spans([span]).SerializePartialToString()
    assert dict(span.attributes) == {"message": "[1, 2]"}
    assert len(calls) == 1
    assert instrumented.is_instrumented_by_opentelemetry
