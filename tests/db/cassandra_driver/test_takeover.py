"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each request."""

from __future__ import annotations

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from opentelemetry import trace
from opentelemetry.trace import StatusCode

SCOPE = "opentelemetry.instrumentation.cassandra"


@pytest.fixture(autouse=True)
def _emulated(emulated):
    from otel_fastpath.db.cassandra import LIBRARY

    emulated(LIBRARY)


def test_ours_adds_the_connect(stock_instrumentor, wrap, seen, connect, server):
    """With `telemetry="full"`: with what stock's tells of the session, and of no other."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    wrap()

    connect("shop").execute("SELECT a FROM b")
    connect("other", contact_points=["127.0.0.1", "localhost"])

    first, request, second = seen.spans()
    own = {key: value for key, value in request.attributes.items() if key.split(".")[0] in {"db", "net"}}
    assert {"db.name", "db.system", "net.peer.name"} <= set(own)
    assert (first.name, first.instrumentation_scope.name) == ("Cassandra", SCOPE)
    assert own.items() <= first.attributes.items()
    assert (second.attributes["db.name"], second.attributes["net.peer.name"]) == ("other", ("127.0.0.1", "localhost"))
    assert server


def test_what_is_meant_to_differ_differs(stock_instrumentor, wrap, seen, session, server):
    """The end of a span, errors, the traces of concurrent requests, suppression, a keyword: its faults are not ours."""
    server.answer("SELECT slow", delay=80)
    server.answer("SELECT wrong", error=("invalid", {"message": "mine"}))
    tracer = trace.get_tracer("app", tracer_provider=seen.tracer_provider)

    def main():
        seen.spans()
        session.execute("SELECT slow")
        with pytest.raises(Exception, match="mine"):
            session.execute("SELECT wrong")
        slow, wrong = seen.spans()
        with tracer.start_as_current_span("request"):
            execute_concurrent_with_args(session, "INSERT INTO a (b) VALUES (%s)", [(1,)] * 100, concurrency=10)
        traces = {span.context.trace_id for span in seen.spans()}
        try:
            session.execute_async(query="SELECT a FROM b").result()
        except IndexError as error:
            return slow, wrong, traces, error
        return slow, wrong, traces, None

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, include_db_statement=True)
    slow, wrong, traces, raised = main()
    assert (slow.end_time - slow.start_time) / 1e6 < 75
    assert wrong.status.status_code is StatusCode.UNSET
    assert len(traces) > 1
    assert isinstance(raised, IndexError)

    wrap(telemetry="same")
    slow, wrong, traces, raised = main()
    assert (slow.end_time - slow.start_time) / 1e6 > 75
    assert (wrong.status.status_code, wrong.attributes["error.type"]) == (StatusCode.ERROR, "2200")
    assert len(traces) == 1
    assert raised is None


def test_undone_theirs_is_back(stock_instrumentor, wrap, instrumentor, seen, session):
    """Once ours is uninstrumented, what was enabled does, with its arguments."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, include_db_statement=True)
    wrap()
    instrumentor.uninstrument()

    session.prepare("SELECT a FROM b")
    session.execute("SELECT a FROM b")

    span = seen.one()
    assert span.attributes["db.statement"].startswith("SELECT a FROM b")


def test_undone_a_session_goes_on(wrap, instrumentor, session):
    """Without telemetry, in the middle of a request, too."""
    seen = wrap()
    future = session.execute_async("SELECT a FROM b")
    instrumentor.uninstrument()

    future.result()
    session.execute("SELECT a FROM b")
    assert len(seen.spans()) <= 1
