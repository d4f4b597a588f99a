"""SQL commenter: what the server is sent beside a query."""

from __future__ import annotations

import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath.libraries.db.comments import commented

HEADER = f"00-{1:032x}-{2:016x}-01"


class _Foreign(W3CBaggagePropagator):
    """A propagator of the user's own."""

    def inject(self, carrier, context=None, setter=None):  # noqa: ARG002  # the interface's
        carrier["x-user"] = "secret"


@pytest.fixture
def propagators(monkeypatch):
    """Baggage and a foreign propagator are configured, too, and there is baggage."""
    composite = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator(), _Foreign()])
    monkeypatch.setattr(propagate, "propagator", composite)
    token = context.attach(baggage.set_baggage("card", "4111 secret"))
    yield
    context.detach(token)


def comment(state=None):
    """What is sent for a query inside a span with this trace state."""
    span = NonRecordingSpan(SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(1), trace_state=state))
    with trace.use_span(span):
        (_, text), _ = commented((None, "SELECT 1"), {}, ())
    return text


@pytest.mark.usefixtures("propagators")
def test_only_the_trace_context_is_sent():
    """Neither baggage nor what other propagators inject."""
    assert comment() == f"SELECT 1 /*traceparent='{HEADER}'*/"


def test_values_are_encoded():
    """As SQL commenter's specification says: by the rules of URLs; no value ends the string or the comment."""
    text = comment(TraceState([("congo", "t61'*/;--rojo")]))

    assert text == f"SELECT 1 /*traceparent='{HEADER}',tracestate='congo%3Dt61%27%2A%2F%3B--rojo'*/"


def test_without_a_span_nothing_is_sent():
    """Even where there is baggage."""
    assert commented((None, "SELECT 1"), {}, ()) == ((None, "SELECT 1"), {})
