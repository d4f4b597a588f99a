"""Which headers an outgoing call gets follows the propagators as they are, also if other code replaced a method."""

from __future__ import annotations

import contextlib
import gc

import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath import compiled

IDS = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
HEADER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def outgoing(core):
    """The module under test, of either core."""
    return compiled.load("http.clients.outgoing", core)


def _context(**more):
    span = NonRecordingSpan(SpanContext(*IDS, is_remote=False, trace_flags=TraceFlags(1), **more))
    return trace.set_span_in_context(span, context.Context())


def _sent(outgoing, where):
    headers, expected = {}, {}
    token = context.attach(where)
    try:
        outgoing.propagate(headers)
        propagate.inject(expected)
    finally:
        context.detach(token)
    assert headers == expected
    return headers


def test_the_span_is_told(outgoing):
    """With what belongs to it: its trace state and the baggage."""
    assert _sent(outgoing, _context()) == {"traceparent": HEADER}
    assert _sent(outgoing, context.Context()) == {}
    assert _sent(outgoing, _context(trace_state=TraceState([("a", "b")])))["tracestate"] == "a=b"
    assert _sent(outgoing, baggage.set_baggage("user", "me", _context()))["baggage"] == "user=me"


@pytest.mark.parametrize("owner", [CompositePropagator, TraceContextTextMapPropagator, W3CBaggagePropagator])
def test_a_method_of_another_package_is_called(outgoing, owner, monkeypatch):
    """Before and after it was put in, and after it was taken out."""
    original = owner.inject

    def theirs(self, carrier, *args, **kwargs):
        original(self, carrier, *args, **kwargs)
        carrier["x-theirs"] = "1"

    assert _sent(outgoing, _context()) == {"traceparent": HEADER}
    with monkeypatch.context() as patched:
        patched.setattr(owner, "inject", theirs)
        assert _sent(outgoing, _context()) == {"traceparent": HEADER, "x-theirs": "1"}
    assert _sent(outgoing, _context()) == {"traceparent": HEADER}


def test_another_propagator_is_asked(outgoing, monkeypatch):
    """Also one that is a subclass, and one that has an attribute of its own."""

    def theirs(carrier, *_args, **_kwargs):
        carrier["x-theirs"] = "1"

    class Theirs(TraceContextTextMapPropagator):
        inject = staticmethod(theirs)

    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", CompositePropagator([Theirs()]))
    assert _sent(outgoing, _context()) == {"x-theirs": "1"}
    only_baggage = CompositePropagator([W3CBaggagePropagator()])
    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", only_baggage)
    assert _sent(outgoing, _context()) == {}
    of_its_own = TraceContextTextMapPropagator()
    of_its_own.inject = theirs
    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", CompositePropagator([of_its_own]))
    assert _sent(outgoing, _context()) == {"x-theirs": "1"}


def test_a_limit_while_the_next_connection_is_told(outgoing, monkeypatch):
    """Reaches the caller, and the context is as before, although the exception and its frames still exist."""
    enter = contextlib._GeneratorContextManager.__enter__

    def interrupted(manager):
        entered = enter(manager)
        if manager.gen.__name__ == "set_ip_on_next_http_connection":
            raise KeyboardInterrupt
        return entered

    monkeypatch.setattr(contextlib._GeneratorContextManager, "__enter__", interrupted)
    before = context.get_current()
    with pytest.raises(KeyboardInterrupt) as raised:
        outgoing.connecting(NonRecordingSpan(SpanContext(*IDS, is_remote=False)))
    assert context.get_current() == before
    del raised
    gc.collect()
    assert context.get_current() == before


@pytest.mark.parametrize("place", [0, 1])
def test_a_propagator_that_gets_a_method_of_its_own(outgoing, place, monkeypatch):
    """Later than it was first used: it is called from the next call on."""
    parts = [TraceContextTextMapPropagator(), W3CBaggagePropagator()]
    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", CompositePropagator(parts))
    assert _sent(outgoing, _context()) == {"traceparent": HEADER}
    parts[place].inject = lambda carrier, *_args, **_kwargs: carrier.update({"x-theirs": "1"})
    assert _sent(outgoing, _context())["x-theirs"] == "1"
    del parts[place].inject
    assert _sent(outgoing, _context()) == {"traceparent": HEADER}


def test_a_list_of_propagators_that_changes(outgoing, monkeypatch):
    """It is the propagator's own: another one may be added to it, and taken out again."""

    class Theirs(TraceContextTextMapPropagator):
        def inject(self, carrier, *_args, **_kwargs):
            carrier["x-theirs"] = "1"

    parts = [TraceContextTextMapPropagator(), W3CBaggagePropagator()]
    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", CompositePropagator(parts))
    for _ in range(2):
        assert _sent(outgoing, _context()) == {"traceparent": HEADER}
        parts.append(Theirs())
        assert _sent(outgoing, _context()) == {"traceparent": HEADER, "x-theirs": "1"}
        kept, parts[:] = parts[:2], []
        assert _sent(outgoing, _context()) == {}
        parts[:] = kept
