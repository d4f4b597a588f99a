"""Functions and properties of stock that spans read, replaced after the first span: what they return is followed."""

from __future__ import annotations

import sys

import pytest
from opentelemetry import propagate, trace
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Decision, ParentBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import SpanContext, TraceFlags, TraceState

from otel_fastpath.compiled.facts import holds_now, is_true
from otel_fastpath.trace.planning.read_values import READ_AT_END, READ_AT_START

WATCHES = sys.version_info >= (3, 12)
REMOTE = SpanContext(
    1 << 100, 1 << 50, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("vendor", "value")])
)


def _child(tracer):
    return tracer.start_span("child", trace.set_span_in_context(trace.NonRecordingSpan(REMOTE)))


def _injected(tracer):
    carrier = {}
    TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(_child(tracer)))
    return sorted(carrier)


def _is_recording(tracer):
    return _child(tracer).is_recording()


def _is_root(tracer):
    return _child(tracer).parent is None


def _trace_id(tracer):
    return _child(tracer).get_span_context()[0]


# The owner, the name, what takes its place, and what is read.
READ = [
    (Decision, "is_recording", lambda _self: False, _is_recording),
    (SpanContext, "trace_id", property(lambda _self: 5), _trace_id),
    (SpanContext, "is_valid", property(lambda _self: False), _is_root),
    (TraceFlags, "sampled", property(lambda _self: False), _is_recording),
    (TraceState, "__len__", lambda _self: 0, _injected),
    (sampling, "_get_parent_trace_state", lambda _context: None, _injected),
    (
        RandomIdGenerator,
        "generate_trace_id",
        lambda _self: 7,
        lambda tracer: tracer.start_span("root").context.trace_id,
    ),
    (RandomIdGenerator, "generate_span_id", lambda _self: 7, lambda tracer: tracer.start_span("root").context.span_id),
]


def _tracer():
    return TracerProvider(
        ParentBased(ALWAYS_ON, remote_parent_not_sampled=ALWAYS_OFF), shutdown_on_exit=False
    ).get_tracer("name")


def _check(instrumentor, core, monkeypatch, case):
    """What is read after a replacement is what stock reads then; before it and afterwards, it is something else."""
    owner, name, replacement, read = case
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        expected = read(_tracer())
    instrumentor.instrument(core=core, disabled="exceptions")
    tracer = _tracer()
    assert read(tracer) != expected
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        assert read(tracer) == expected
    assert read(tracer) != expected


@pytest.mark.skipif(not WATCHES, reason="CPython reports no changes of classes")
@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case[0].__name__}.{case[1]}")
def test_a_value_is_replaced(instrumentor, monkeypatch, case):
    """The compiled core notices it."""
    pytest.importorskip("otel_fastpath.compiled.facts_c")
    _check(instrumentor, "c", monkeypatch, case)


@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case[0].__name__}.{case[1]}")
def test_a_replacement_before(instrumentor, core, monkeypatch, case):
    """Both cores notice it."""
    owner, name, replacement, read = case
    monkeypatch.setattr(owner, name, replacement)
    expected = read(_tracer())
    instrumentor.instrument(core=core, disabled="exceptions")

    assert read(_tracer()) == expected


class _Own(sdk_trace._Span):
    """An application's class of spans."""


def test_the_class_of_spans_is_replaced(instrumentor, core, monkeypatch):
    """Both cores notice it."""
    _check(instrumentor, core, monkeypatch, (sdk_trace, "_Span", _Own, lambda tracer: type(tracer.start_span("span"))))


def test_the_propagators_are_the_usual_ones():
    """Otherwise the header that is read above is another's."""
    assert "traceparent" in propagate.get_global_textmap().fields


@pytest.mark.parametrize("facts", [READ_AT_START, READ_AT_END])
def test_what_stock_reads_is_its_own(facts):
    """While nobody has replaced anything: a decorated property would never be what is expected."""
    assert [fact[:2] for fact in facts if not holds_now(fact)] == []


def test_plans_hold(instrumented, core):  # noqa: ARG001  # the fast path is in place
    """What the plan of a tracer rests on is true."""
    tracer = _tracer()
    tracer.start_span("span").end()

    plan = tracer._otel_fastpath_plan
    assert [is_true(each) for each in (plan.starting, plan.sampling, plan.ending)] == [True] * 3
