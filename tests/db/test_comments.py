"""SQL commenter: what the server is sent beside a query."""

from __future__ import annotations

import pymysql
import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath.db.queries.comments import add_comment

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
        (_, text), _ = add_comment((None, "SELECT 1"), {}, ())
    return text


@pytest.mark.usefixtures("propagators")
def test_only_the_trace_context_is_sent():
    """Neither baggage nor what other propagators inject."""
    assert comment() == f"SELECT 1 /*traceparent='{HEADER}'*/"


def test_values_are_encoded():
    """As SQL commenter's specification says: by the rules of URLs; no value ends the string or the comment."""
    text = comment(TraceState([("congo", "t61'*/;--rojo")]))

    assert text == f"SELECT 1 /*traceparent='{HEADER}',tracestate='congo%3Dt61%27%2A%2F%3B--rojo'*/"


def test_a_text_of_the_applications_own_type_stays_what_it_is():
    """Drivers may refuse it, or treat it in their own way."""

    class Text(str):
        __slots__ = ()

    text = Text("SELECT 1")
    with trace.use_span(NonRecordingSpan(SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(1)))):
        (_, sent), _ = add_comment((None, text), {}, ())

    assert sent is text


def test_without_a_span_nothing_is_sent():
    """Even where there is baggage."""
    assert add_comment((None, "SELECT 1"), {}, ()) == ((None, "SELECT 1"), {})


@pytest.fixture
def cursor(instrumentor, core, seen, monkeypatch):
    """A cursor of PyMySQL without a server, which keeps what it would send in `sent`; with comments."""
    settings = {"pymysql": "on", "pymysql_options": "sqlcommenter", "disabled": "exceptions"}
    instrumentor.instrument(core=core, tracer_provider=seen.tracer_provider, **settings)
    connection = pymysql.connections.Connection(defer_connect=True)
    made = pymysql.cursors.Cursor(connection)
    made.sent = []
    monkeypatch.setattr(made, "_query", lambda text: made.sent.append(text) or 1, raising=False)
    monkeypatch.setattr(made, "nextset", lambda: None, raising=False)
    return made


def test_drivers_that_put_parameters_in_the_query(cursor):
    """The percent signs of an encoded value are none of their placeholders, with parameters or without."""
    state = TraceState([("congo", "t61*")])
    with trace.use_span(
        NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=state))
    ):
        cursor.execute("SELECT %s, '%%'", (1,))
        cursor.execute("SELECT '%'")

    ends = "'congo%3Dt61%2A'*/"
    assert [text.partition(" /*")[0] for text in cursor.sent] == ["SELECT 1, '%'", "SELECT '%'"]
    assert [text.rpartition("=")[2] for text in cursor.sent] == [ends] * 2


def test_a_batch_of_mysql_stays_one_query(cursor):
    """The driver sends rows together only if nothing follows the values: a batch has no comment."""
    with trace.use_span(NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1)))):
        cursor.executemany("INSERT INTO t VALUES (%s)", [(1,), (2,), (3,)])

    assert [bytes(text) for text in cursor.sent] == [b"INSERT INTO t VALUES (1),(2),(3)"]
