"""What stands in the place of stock's functions looks like them, and goes inert below somebody's wrapper."""

from __future__ import annotations

import functools
import inspect
import pickle

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context import attach, detach
from opentelemetry.context.context import Context
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.trace import sampling
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath import compiled
from otel_fastpath.wrapping import tracers

PLACES = (
    (sdk_trace.Tracer, "start_span"),
    (sdk_trace.Tracer, "start_as_current_span"),
    (trace.NoOpTracer, "start_as_current_span"),
    (trace.ProxyTracer, "start_as_current_span"),
    (trace, "use_span"),
)
STOCK = {(owner, name): vars(owner)[name] for owner, name in PLACES}
IDS = [f"{owner.__name__}.{name}" for owner, name in PLACES]


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=IDS)
def test_a_replacement_looks_like_the_original(instrumented, owner, name):
    """Signature, names, docs, what it wraps, its nature, and how it is pickled."""
    del instrumented
    original, ours = STOCK[owner, name], vars(owner)[name]

    assert ours is not original
    assert inspect.signature(ours) == inspect.signature(original)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(ours, attribute) == getattr(original, attribute)
    assert ours.__wrapped__ is original
    assert not inspect.iscoroutinefunction(ours)
    assert not inspect.isgeneratorfunction(ours)
    assert pickle.loads(pickle.dumps(ours)) is ours  # noqa: S301  # of our own making


def around(function, calls):
    """Someone's wrapper."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        calls.append(kwargs)
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=IDS)
def test_a_wrapped_replacement_goes_inert_and_comes_back(instrumented, core, monkeypatch, owner, name):
    """Below a wrapper that stays, calls reach the original once it is taken off, and ours once it is put back."""
    calls = []
    tracer = {
        trace.NoOpTracer: trace.NoOpTracer(),
        trace.ProxyTracer: trace.ProxyTracer("proxy"),
    }.get(owner) or sdk_trace.TracerProvider(shutdown_on_exit=False).get_tracer("wrapped")

    def made():
        if owner is trace:
            return type(trace.use_span(trace.INVALID_SPAN, end_on_exit=False))
        return type(getattr(tracer, name)("made", attributes={"a": 1}))

    # Taken off before ours: the fixture would find ours in its place.
    with monkeypatch.context() as patching:
        patching.setattr(owner, name, around(vars(owner)[name], calls))
        ours = made()
        instrumented.uninstrument()
        stocks = made()
        instrumented.instrument(core=core)
        again = made()

    assert again is ours
    assert stocks is not ours
    assert stocks.__module__.startswith("opentelemetry.")
    assert len(calls) == 3


CALLED = (
    (trace.NoOpTracer, "start_as_current_span"),
    (trace.NoOpTracer, "start_span"),
    (trace, "use_span"),
    (context_api, "set_value"),
)


@pytest.mark.parametrize("is_proxy", [False, True], ids=["no-op", "proxy"])
@pytest.mark.parametrize(("owner", "name"), CALLED, ids=[f"{owner.__name__}.{name}" for owner, name in CALLED])
def test_a_tracer_that_records_nothing_calls_what_is_replaced(instrumented, monkeypatch, owner, name, is_proxy):
    """As often as with stock: the functions of the API may be somebody's."""

    def called():
        tracer = trace.ProxyTracer("proxy") if is_proxy else trace.NoOpTracer()
        calls = []
        with monkeypatch.context() as patching:
            patching.setattr(owner, name, around(vars(owner)[name], calls))
            with tracer.start_as_current_span("made"):
                pass
        return len(calls)

    ours = called()
    instrumented.uninstrument()
    assert ours == called() == 1


def test_a_start_span_of_one_no_op_tracer(instrumented):
    """It is the object's own."""
    del instrumented
    theirs = trace.NonRecordingSpan(trace.INVALID_SPAN_CONTEXT)
    tracer = trace.NoOpTracer()
    tracer.start_span = lambda *_given, **_named: theirs
    with tracer.start_as_current_span("made") as span:
        assert span is theirs


def test_one_process_has_a_switch_for_each_function(instrumented, core, monkeypatch):
    """One function that goes inert leaves the others in force."""
    tracer = sdk_trace.TracerProvider(shutdown_on_exit=False).get_tracer("switches")
    calls = []
    with monkeypatch.context() as patching:
        patching.setattr(sdk_trace.Tracer, "start_span", around(sdk_trace.Tracer.start_span, calls))
        instrumented.uninstrument()
        instrumented.instrument(core=core, disabled="tracer.start_span")
        scope = tracer.start_as_current_span("current")
        with scope as span:
            pass

    assert type(span) is sdk_trace._Span
    assert len(calls) == 1
    assert type(scope).__module__.startswith("otel_fastpath.")


def _header(context):
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


@pytest.mark.parametrize("decision", ["RECORD_AND_SAMPLE", "RECORD_ONLY"])
@pytest.mark.parametrize("parent", ["none", "remote", "with a trace state"])
def test_the_header_of_a_recording_span(exporting, decision, parent):
    """It is written from what the span keeps, and is that of its span context."""
    state = trace.TraceState([("vendor", "1")]) if parent == "with a trace state" else None
    above = trace.SpanContext(1 << 127, 5, is_remote=True, trace_flags=trace.TraceFlags(3), trace_state=state)
    context = None if parent == "none" else trace.set_span_in_context(trace.NonRecordingSpan(above), Context())
    sampler = sampling.StaticSampler(sampling.Decision[decision])
    with exporting(sampler=sampler) as (provider, _):
        span = provider.get_tracer("headers").start_span("outgoing", context)
        carrier = {}
        TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(span, Context()))
        assert carrier.pop("traceparent") == _header(span.get_span_context())
        assert carrier == ({"tracestate": "vendor=1"} if state else {})


def test_the_header_of_a_span_with_another_context(exporting):
    """Whoever gives a span another span context is followed."""
    with exporting() as (provider, _):
        span = provider.get_tracer("headers").start_span("outgoing")
        span._context = trace.SpanContext(7, 8, is_remote=False, trace_flags=trace.TraceFlags(1))
        carrier = {}
        with trace.use_span(span):
            TraceContextTextMapPropagator().inject(carrier)
        assert carrier == {"traceparent": _header(span._context)}


class _Dropping(sampling.StaticSampler):
    """A sampler of an application, which inherits all."""


SAMPLERS = {
    "off": lambda: sampling.StaticSampler(sampling.Decision.DROP),
    "a subclass that is off": lambda: _Dropping(sampling.Decision.DROP),
    "a root that is off": lambda: sampling.ParentBased(sampling.StaticSampler(sampling.Decision.DROP)),
    "no ratio": lambda: sampling.ParentBasedTraceIdRatio(0),
    "on": lambda: sampling.ParentBased(sampling.StaticSampler(sampling.Decision.RECORD_AND_SAMPLE)),
}


@pytest.mark.parametrize("where", ["class", "instance", "root", "root's class"])
@pytest.mark.parametrize("which", SAMPLERS)
def test_a_replaced_sampler_decides_about_the_next_span(instrumented, monkeypatch, which, where):
    """Also if spans were dropped, or recorded, before; and about the spans of wrappers, which a dropped one lacks."""
    del instrumented
    sampler = SAMPLERS[which]()
    decider = getattr(sampler, "_root", sampler) if where.startswith("root") else sampler
    owner = decider if where in {"instance", "root"} else type(decider)
    tracer = sdk_trace.TracerProvider(sampler, shutdown_on_exit=False).get_tracer("replaced")
    starting = compiled.hot.wrapping_starting
    tracers.watch()

    def recorded():
        """Whether a span of the tracer is recorded, one below it, and one of a wrapper, alone or below it."""
        found = []
        for context in (Context(), trace.set_span_in_context(tracer.start_span("parent"), Context())):
            token = attach(context)
            span = starting.start_if_kept(tracer, trace.SpanKind.CLIENT, "made", {}, None)
            is_dropped = starting.drops(tracer)
            found.append(tracer.start_span("made").is_recording())
            found.append(span is not None and span.is_recording())
            assert not (is_dropped and found[-1])
            detach(token)
        return found

    is_on = which == "on"
    assert recorded() == [is_on] * 4
    decision = sampling.Decision.DROP if is_on else sampling.Decision.RECORD_AND_SAMPLE
    with monkeypatch.context() as patched:
        patched.setattr(owner, "should_sample", lambda *_args, **_kwargs: sampling.SamplingResult(decision))
        assert recorded() == [not is_on] * 4
    assert recorded() == [is_on] * 4
