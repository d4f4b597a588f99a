"""The context goes with the request: into callbacks, and into the requests that are sent from them."""

from __future__ import annotations

import threading

import pytest
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from opentelemetry import context, trace

TEXT = "INSERT INTO users (id) VALUES (%s)"


@pytest.fixture
def tracer(seen):
    """The application's."""
    return trace.get_tracer("app", tracer_provider=seen.tracer_provider)


WAYS = {
    "list": lambda session, many: execute_concurrent_with_args(session, TEXT, many, concurrency=20),
    "generator": lambda session, many: list(
        execute_concurrent(session, [(TEXT, each) for each in many], concurrency=20, results_generator=True)
    ),
    "method": lambda session, many: session.execute_concurrent_with_args(TEXT, many, concurrency=20),
    "future": lambda session, many: session.execute_concurrent_async(
        [(TEXT, each) for each in many], concurrency=20
    ).result(),
}
# The methods are in DataStax's driver only, since 3.30.
HERE = [way for way in WAYS if way in {"list", "generator"} or hasattr(Session, "execute_concurrent_async")]


@pytest.mark.proves("cassandra.callback", "cassandra.errback")
@pytest.mark.parametrize("way", HERE)
def test_concurrent_requests_are_in_one_trace(traced, tracer, way):
    """Not only the first of them; the stock instrumentation has a trace for each of the others."""
    session, seen = traced

    with tracer.start_as_current_span("request") as request:
        results = WAYS[way](session, [(number,) for number in range(300)])

    assert len(results) == 300
    *spans, root = seen.spans()
    assert root.name == "request"
    assert [span.name for span in spans] == ["INSERT users"] * 300
    assert {span.parent.span_id for span in spans} == {request.get_span_context().span_id}


def test_concurrent_errors_are_in_it_too(traced, tracer, server):
    """Each is an error of its own request."""
    session, seen = traced
    server.answer("SELECT wrong", error=("invalid", {"message": "mine"}))

    with tracer.start_as_current_span("request"):
        results = execute_concurrent(session, [("SELECT wrong", None)] * 50, concurrency=5, raise_on_first_error=False)

    assert {success for success, _ in results} == {False}
    *spans, root = seen.spans()
    assert {(span.context.trace_id, span.status.status_code.name) for span in spans} == {
        (root.context.trace_id, "ERROR")
    }


def test_a_callback_has_the_context_in_which_it_was_added(traced, tracer, server):
    """Not that of the driver's thread, and not that of the submission."""
    session, seen = traced
    server.answer("SELECT slow", delay=50)
    found, done = [], threading.Event()

    def callback(_rows, *args, **kwargs):
        found.append((trace.get_current_span().name, threading.current_thread().name, args, kwargs))
        session.execute_async("SELECT a FROM b").add_callback(lambda _rows: done.set())

    with tracer.start_as_current_span("first"):
        future = session.execute_async("SELECT slow")
    with tracer.start_as_current_span("second") as second:
        future.add_callback(callback, 1, key=2)
        before = context.get_current()
    assert done.wait(10)

    (name, thread, args, kwargs) = found[0]
    assert (name, args, kwargs) == ("second", (1,), {"key": 2})
    assert thread != threading.current_thread().name
    assert before[trace.propagation._SPAN_KEY] is second
    spans = {span.name: span for span in seen.spans()}
    assert spans["SELECT b"].parent.span_id == second.get_span_context().span_id
    assert spans["SELECT"].parent.span_id == spans["first"].context.span_id


def test_an_errback_has_it_too(traced, tracer, server):
    """Also one that is added when the error is there."""
    session, _ = traced
    server.answer("SELECT wrong", error=("invalid", {"message": "mine"}), delay=30)
    found = []

    def errback(error):
        found.append((type(error).__name__, trace.get_current_span().name))

    with tracer.start_as_current_span("request"):
        future = session.execute_async("SELECT wrong")
        future.add_errback(errback)
        with pytest.raises(Exception, match="mine"):
            future.result()
        future.add_callbacks(print, fn_errback := errback)
        assert fn_errback is errback

    assert found == [("InvalidRequest", "request")] * 2


def test_without_a_context_the_callback_is_the_applications_own(traced):
    """Nothing is put around it."""
    session, _ = traced

    def callback(_rows):
        """Does nothing."""

    future = session.execute_async("SELECT a FROM b")
    future.add_callback(callback)
    future.result()

    assert future._callbacks[0][0] is callback


def test_an_exception_of_a_callback_is_the_drivers(traced, tracer):
    """As without us: the driver logs it, and the result is there."""
    session, _ = traced

    def callback(_rows):
        raise KeyError("mine")

    with tracer.start_as_current_span("request"):
        future = session.execute_async("SELECT a FROM b")
        future.result()
        with pytest.raises(KeyError, match="mine"):
            future.add_callback(callback)
        assert trace.get_current_span().name == "request"


@pytest.mark.parametrize("name", ["add_callback", "add_errback"])
def test_arguments_are_checked_by_the_driver(wrap, session, tracer, name):
    """Its own TypeError if there is no callback; the callback may be passed by its name."""
    future = session.execute_async("SELECT a FROM b")
    future.result()
    with pytest.raises(TypeError) as own:
        getattr(future, name)()
    wrap()
    found = []

    with tracer.start_as_current_span("request"):
        with pytest.raises(TypeError) as raised:
            getattr(future, name)()
        getattr(future, name)(fn=lambda _rows: found.append(trace.get_current_span().name))
    for callback, _, _ in (*future._callbacks, *future._errbacks):
        callback(None)

    assert raised.value.args == own.value.args
    assert set(found) == {"request"}
