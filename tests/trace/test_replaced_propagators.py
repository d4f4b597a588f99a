"""What other code puts in the place of propagators, their methods, limits and helpers is used from the next call on."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

import pytest
from opentelemetry import baggage, propagate, trace
from opentelemetry import context as context_api
from opentelemetry.baggage import propagation
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.propagators import b3, jaeger
from opentelemetry.propagators.aws import AwsXRayPropagator, aws_xray_propagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import DefaultGetter, DefaultSetter
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from opentelemetry.trace.propagation import tracecontext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import TraceState

from otel_fastpath import compiled as cores
from otel_fastpath.others.propagators import stock_aws_xray, stock_b3, stock_jaeger
from otel_fastpath.trace.propagation import stock_propagators

HEADERS = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "baggage": "user=me,tenant=acme+corp,third=3",
    "b3": "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
    "uber-trace-id": "0af7651916cd43dd8448eb211c80319c:b7ad6b7169203331:0:1",
    "X-Amzn-Trace-Id": "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1",
}
KINDS = (
    TraceContextTextMapPropagator,
    W3CBaggagePropagator,
    b3.B3MultiFormat,
    b3.B3SingleFormat,
    jaeger.JaegerPropagator,
    AwsXRayPropagator,
)
NONE = TraceFlags(0)
SPAN = NonRecordingSpan(SpanContext(5, 6, is_remote=False))
CURRENT = Context({trace.propagation._SPAN_KEY: SPAN, "theirs": 1})
# As tests replace the API in a module.
THEIRS = SimpleNamespace(
    **{**vars(trace), "get_current_span": lambda context=None: trace.INVALID_SPAN if context else SPAN}
)
# Functions and values of stock that are read at each call; a replacement changes what is read or written.
REPLACED = [
    (trace, "get_current_span", lambda context=None: trace.INVALID_SPAN if context else SPAN),
    (trace, "set_span_in_context", lambda _span, context=None: Context({**(context or {}), "theirs": 1})),
    (trace.propagation, "get_value", lambda _key, context=None: trace.INVALID_SPAN if context else SPAN),
    (trace.propagation, "set_value", lambda _key, _value, context=None: Context({**(context or {}), "theirs": 1})),
    (context_api, "get_current", lambda: CURRENT),
    (context_api._RUNTIME_CONTEXT, "get_current", lambda: CURRENT),
    (SpanContext, "__new__", lambda kind, *_given, **_named: tuple.__new__(kind, (1, 2, True, NONE, None, True))),
    (tracecontext, "format_trace_id", lambda _number: "f" * 32),
    (tracecontext, "format_span_id", lambda _number: "f" * 16),
    (baggage, "_BAGGAGE_KEY", "theirs"),
    (trace.propagation, "_SPAN_KEY", "theirs"),
    (propagation, "get_all", lambda context=None: {"theirs": context is None}),
    (propagation, "set_baggage", lambda name, _value, context=None: Context({**(context or {}), name: "theirs"})),
    (propagation, "_is_valid_pair", lambda key, _value: key != "user"),
    (propagation, "_apply_baggage_limits", lambda entries, **_limits: list(entries)[:1]),
    (propagation, "_encode_baggage_pairs", lambda entries: iter(f"{key}=theirs" for key in entries)),
    (propagation, "_extract_first_element", lambda _items: None),
    (propagation, "quote_plus", lambda text: f"<{text}>"),
    (propagation, "unquote_plus", lambda text: f"<{text}>"),
    (baggage, "_is_valid_value", lambda value: value != "me"),
    (baggage, "get_value", lambda _key, context=None: {"theirs": context is None}),
    (baggage, "_get_baggage_value", lambda context=None: {"theirs": context is None}),
    (W3CBaggagePropagator, "_MAX_PAIRS", 1),
    (W3CBaggagePropagator, "_MAX_PAIR_LENGTH", 8),
    (W3CBaggagePropagator, "_MAX_HEADER_LENGTH", 20),
    (W3CBaggagePropagator, "_BAGGAGE_HEADER_NAME", "x-baggage"),
    (TraceContextTextMapPropagator, "_TRACEPARENT_HEADER_NAME", "x-traceparent"),
    (DefaultGetter, "get", lambda _self, carrier, key: [carrier.get(key, "")[:60]]),
    (DefaultSetter, "set", lambda _self, carrier, key, value: carrier.update({key: [value]})),
    (NonRecordingSpan, "get_span_context", lambda _self: SpanContext(1, 2, is_remote=False)),
    (b3, "format_trace_id", lambda _number: "f" * 32),
    (b3, "_extract_first_element", lambda _items: None),
    (b3.B3MultiFormat, "SINGLE_HEADER_KEY", "x-b3"),
    (b3.B3MultiFormat, "_SAMPLE_PROPAGATE_VALUES", ()),
    (jaeger, "_parse_trace_id_header", lambda _items: (1, 2, 1)),
    (jaeger, "_format_uber_trace_id", lambda *_numbers: "theirs"),
    (jaeger.JaegerPropagator, "TRACE_ID_KEY", "x-trace-id"),
    (jaeger.JaegerPropagator, "_extract_baggage", lambda *_given: Context(theirs=1)),
    (aws_xray_propagator, "TRACE_HEADER_KEY", "x-trace-id"),
    *((module, "trace", THEIRS) for module in (aws_xray_propagator, b3, jaeger, tracecontext)),
    (jaeger, "baggage", SimpleNamespace(get_all=lambda context: {"theirs": context is None}, set_baggage=None)),
    (AwsXRayPropagator, "_parse_trace_id", staticmethod(lambda _text: 5)),
    *((kind, "inject", lambda _self, carrier, *_given, **_named: carrier.update(theirs="1")) for kind in KINDS),
    *((kind, "extract", lambda *_given, **_named: Context(theirs=1)) for kind in KINDS),
    (CompositePropagator, "inject", lambda _self, carrier, *_given, **_named: carrier.update(theirs="1")),
    (CompositePropagator, "extract", lambda *_given, **_named: Context(theirs=1)),
]

# What they read of a span's context: where CPython reports no changes, a replacement is noticed at the set-up only.
READ = [
    (SpanContext, "is_valid", property(lambda _self: False)),
    (SpanContext, "span_id", property(lambda _self: 7)),
    (SpanContext, "trace_flags", property(lambda _self: TraceFlags(4))),
    (SpanContext, "trace_id", property(lambda _self: 7)),
    (SpanContext, "trace_state", property(lambda _self: TraceState([("a", "1")]))),
    (TraceState, "__len__", lambda _self: 1),
]
WRITING = {
    each.__name__.rpartition(".")[2]: each.INJECTING
    for each in (stock_aws_xray, stock_b3, stock_jaeger, stock_propagators)
} | {"both": stock_propagators.INJECTING_BOTH}

BOTH = {"extract": stock_propagators.EXTRACTING_BOTH, "inject": stock_propagators.INJECTING_BOTH}
# And the method for which each is called although there is no header, or no span.
WITHOUT_HEADERS = [
    (propagation, "_extract_first_element", lambda _items: None, "extract"),
    (DefaultGetter, "get", lambda _self, carrier, key: carrier.get(key), "extract"),
    (propagation, "get_all", lambda context=None: {"theirs": context is None}, "inject"),
    (baggage, "_get_baggage_value", lambda context=None: {"theirs": context is None}, "inject"),
    (propagate, "extract", lambda *_given, **_named: Context(), "extract"),
    (propagate, "inject", lambda *_given, **_named: None, "inject"),
]


def shown_as(replaced):
    """The name of a test."""
    return f"{getattr(replaced[0], '__name__', 'runtime')}.{replaced[1]}"


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


def written_and_read():
    """What each propagator, and the default ones together, write and read."""
    own = SpanContext(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD, is_remote=False, trace_flags=TraceFlags(1))
    context = {trace.propagation._SPAN_KEY: NonRecordingSpan(own)}
    context = Context({**context, baggage._BAGGAGE_KEY: {"user": "me", "tenant": "acme corp"}})
    without_baggage = Context({**context, baggage._BAGGAGE_KEY: None})
    default = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])
    found = []
    for propagator in (default, *(kind() for kind in KINDS)):
        carriers = {}, {}, {}
        for carrier, of in zip(carriers, (context, None, without_baggage), strict=True):
            propagator.inject(carrier, of)
        read = propagator.extract(HEADERS)
        found.append((carriers, {key: _shown(value) for key, value in read.items()}))
    return found


def _shown(value):
    return value._context if isinstance(value, NonRecordingSpan) else value


@pytest.mark.parametrize("replaced", [*REPLACED, *READ], ids=shown_as)
def test_what_is_replaced(instrumented, core, monkeypatch, replaced, no_faults):
    """After it was used, and until it is given back; and again."""
    if replaced in READ and (core == "py" or sys.version_info < (3, 12)):
        pytest.skip("CPython reports no changes of classes")
    instrumented.uninstrument()
    usual = written_and_read()
    with monkeypatch.context() as patched:
        patched.setattr(*replaced)
        expected = written_and_read()
    assert expected != usual
    instrumented.instrument(core=core)
    for _ in range(2):
        assert written_and_read() == usual
        with monkeypatch.context() as patched:
            patched.setattr(*replaced)
            assert written_and_read() == expected
    assert written_and_read() == usual
    assert no_faults.counts() == {}


@pytest.mark.parametrize("replaced", [*REPLACED, *READ], ids=shown_as)
def test_what_was_replaced_before(instrumentor, core, monkeypatch, replaced, no_faults):
    """Other code was there first: it is called, or the patch is not applied."""
    usual = written_and_read()
    with monkeypatch.context() as patched:
        patched.setattr(*replaced)
        expected = written_and_read()
        instrumentor.instrument(core=core)
        assert written_and_read() == expected
        instrumentor.uninstrument()
        assert written_and_read() == expected
    assert written_and_read() == usual
    assert no_faults.counts() == {}


@pytest.mark.parametrize("name", WRITING)
def test_what_is_read_has_another_source(monkeypatch, name):
    """Each property that is not called is declared: another release may change it."""
    written = WRITING[name]
    for place in written._written:
        with monkeypatch.context() as patched:
            patched.setitem(written._written, place, frozenset({"another"}))
            assert place in str(written.look()[1])
    assert written.look()[1] is None
    assert {place.rpartition(".")[2] for place in written._written} >= {name for _, name, _ in READ}


def _propagator_of(core, method):
    return cores.load("trace.propagation.global_propagator", core).W3C(method)


@pytest.mark.parametrize("method", ["extract", "inject"])
def test_what_is_called_without_a_header_has_another_source(core, monkeypatch, method):
    """A request without headers does not call the propagators, nor does one without a span: what they do is known."""
    called = BOTH[method]
    for sources, place in ((each, place) for each in (called.functions, called._written) for place in each):
        with monkeypatch.context() as patched:
            patched.setitem(sources, place, frozenset({"another"}))
            assert _propagator_of(core, method).propagator() is None
    assert _propagator_of(core, method).propagator() is not None


@pytest.mark.parametrize("replaced", WITHOUT_HEADERS, ids=shown_as)
@pytest.mark.parametrize("is_before", [True, False])
def test_what_is_called_without_a_header_is_replaced(core, monkeypatch, replaced, is_before):
    """They are called then, and no longer once it is given back."""
    *_, method = replaced
    found = _propagator_of(core, method)
    if not is_before:
        assert found.propagator() is not None
        if core == "py" or sys.version_info < (3, 12):
            pytest.skip("CPython reports no changes of modules")
    with monkeypatch.context() as patched:
        patched.setattr(*replaced[:3])
        assert [found.propagator() for _ in range(2)] == [None, None]
    assert found.propagator() is not None


@pytest.mark.parametrize("method", ["extract", "inject"])
def test_a_refusal_keeps_nothing_alive(core, monkeypatch, method, unfrozen):
    """The objects of whoever called are freed when the call returns: a span in a local variable ends then."""
    del unfrozen

    class Held:
        pass

    def call():
        held = Held()
        kept.append(weakref.ref(held))
        assert _propagator_of(core, method).propagator() is None

    kept = []
    monkeypatch.setitem(BOTH[method].functions, next(iter(BOTH[method].functions)), frozenset({"another"}))
    gc.disable()
    try:
        call()
        assert kept[0]() is None
    finally:
        gc.enable()


def test_another_global_propagator(instrumented, monkeypatch):
    """It is used from the next call on, and so is a method that it gets."""
    del instrumented
    first, second = b3.B3SingleFormat(), jaeger.JaegerPropagator()
    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", propagate.get_global_textmap())
    for propagator in (first, second, first):
        propagate.set_global_textmap(propagator)
        expected = propagator.extract(HEADERS)
        assert [_shown(each) for each in propagate.extract(HEADERS).values()] == [*map(_shown, expected.values())]
    first.extract = lambda *_given, **_named: Context(theirs=1)
    assert propagate.extract(HEADERS) == {"theirs": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_no_getter(instrumented, kind, no_faults):
    """A mistake of the application's fails as with stock, and is not logged as a fault of this package."""
    del instrumented
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'get'"):
        kind().extract(HEADERS, None, None)
    assert no_faults.counts() == {}


def test_nothing_of_a_request_is_kept(instrumented):
    """Neither what was read nor what it was read from."""
    del instrumented

    class Carrier(dict):
        pass

    default = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])
    for propagator in (default, *(kind() for kind in KINDS)):
        carrier = Carrier(HEADERS)
        span = trace.get_current_span(propagator.extract(carrier))
        context = trace.set_span_in_context(span, baggage.set_baggage("user", "me", Context()))
        propagator.inject(Carrier(), context)
        kept = weakref.ref(carrier), None if span is trace.INVALID_SPAN else weakref.ref(span)
        del carrier, span, context
        gc.collect()
        assert [each() for each in kept if each is not None] == [None] * sum(each is not None for each in kept)


def test_undone(instrumented):
    """The very same functions are there again."""
    instrumented.uninstrument()
    for kind in (*KINDS, CompositePropagator):
        for name in ("extract", "inject"):
            function = getattr(kind, name)
            assert function.__globals__["__name__"] == function.__module__


def test_the_empty_trace_state(instrumented):
    """There is one; stock's propagators make a new one, which is equal."""
    del instrumented
    for kind in (b3.B3MultiFormat, AwsXRayPropagator):
        state = trace.get_current_span(kind().extract(HEADERS)).get_span_context().trace_state
        assert state is trace.span.DEFAULT_TRACE_STATE == trace.TraceState()
