"""Requests in flight: results that arrive during the submission, waits that are interrupted, `uninstrument()`."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import traceback

import pytest
from cassandra import InvalidRequest
from cassandra.cluster import ResponseFuture, Session
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.trace import StatusCode

from otel_fastpath.db.cassandra import futures
from otel_fastpath.db.cassandra.query_plans import CALL

TEXT = "SELECT name FROM users"


class InterruptedWaitError(Exception):
    """As Celery's `SoftTimeLimitExceeded`."""


@pytest.fixture
def interrupted():
    """`interrupted(function, error)`: call a function, which this exception, raised by a signal, interrupts."""
    before = signal.getsignal(signal.SIGALRM)

    def call(function, error):
        def interrupt(*_args):
            raise error

        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(type(error)) as raised:
            function()
        assert raised.value is error

    yield call
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def early(monkeypatch):
    """Each result arrives while its request is submitted, and is there for `result` once this event is set."""
    arrived, done = threading.Event(), threading.Event()

    def after_ours(original):
        def method(*args):
            arrived.set()
            assert done.wait(10)
            return original(*args)

        return method

    def returning_late(original):
        def method(*args):
            arrived.clear()
            result = original(*args)
            assert arrived.wait(10)
            return result

        return method

    for owner, name, make in (
        (ResponseFuture, "_set_final_result", after_ours),
        (ResponseFuture, "_set_final_exception", after_ours),
        (ResponseFuture, "start_fetching_next_page", returning_late),
        (Session, "execute_async", returning_late),
    ):
        monkeypatch.setattr(owner, name, make(getattr(owner, name)))
    yield done
    done.set()


def test_a_result_that_arrives_during_the_submission_ends_the_span(early, session, server, wrap):
    """Although the driver has not yet told its own waiters when the submission returns; each page likewise."""
    server.answer(TEXT, rows=[{"name": "a"}], types={"name": "varchar"})
    seen = wrap("rows")

    future = session.execute_async(TEXT)
    first = seen.one()
    early.set()
    future.result()
    early.clear()
    future._paging_state = b"more"
    future.start_fetching_next_page()
    second = seen.one()
    early.set()
    future.result()

    for span in (first, second):
        assert (span.name, span.status.status_code) == ("SELECT users", StatusCode.UNSET)
        assert span.attributes["db.response.returned_rows"] == 1
    (point,) = seen.metrics()["db.client.operation.duration"]
    assert (point.count, seen.spans()) == (2, ())


def test_an_error_that_arrives_during_the_submission_ends_the_span(early, session, server, wrap):
    """With that error."""
    server.answer(TEXT, error=("invalid", {"message": "unconfigured table"}))
    seen = wrap()

    future = session.execute_async(TEXT)
    span = seen.one()
    early.set()
    with pytest.raises(InvalidRequest):
        future.result()

    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "2200")


def test_a_page_does_not_end_with_the_result_of_the_page_before(traced, server):
    """Which had no span, so that nobody needed its result."""
    session, seen = traced
    server.answer(TEXT, rows=[{"name": "a"}], types={"name": "varchar"}, delay=40)
    with suppress_instrumentation():
        result = session.execute(TEXT)

    result.response_future._paging_state = b"more"
    result.response_future.start_fetching_next_page()
    assert seen.spans() == ()
    result.response_future.result()

    span = seen.one()
    assert (span.end_time - span.start_time) / 1e6 > 35


def test_no_span_is_lost_if_two_pages_of_a_future_are_in_flight(traced, server):
    """The first one ends with the result that comes first, the other one when it was submitted."""
    session, seen = traced
    future = session.execute(TEXT).response_future
    server.answer(TEXT, delay=200)
    seen.spans()
    future._paging_state = b"more"

    future.start_fetching_next_page()
    future.start_fetching_next_page()
    submitted = seen.one()
    future.result()
    first = seen.one()
    time.sleep(0.1)

    assert first.end_time > submitted.end_time > submitted.start_time > first.start_time
    assert (CALL in vars(future), seen.spans()) == (False, ())


def test_the_exception_that_interrupts_is_the_applications_own(traced, server, interrupted):
    """It can be pickled, as Celery does, and nothing of ours in it keeps the future alive."""
    session, seen = traced
    server.answer(TEXT, delay=300)
    future = session.execute_async(TEXT)
    error = InterruptedWaitError("time is up")

    interrupted(future.result, error)

    assert vars(error) == {}
    assert pickle.dumps(error)
    own = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_globals is vars(futures)]
    assert [name for frame in own for name, value in frame.f_locals.items() if value is future] == []
    assert own
    future.result()
    seen.one()


def test_an_exception_that_is_raised_again_ends_no_other_request(traced, server, interrupted):
    """One object interrupts waiting for a future, and later a request of its own."""
    session, seen = traced
    server.answer(TEXT, delay=600)
    future = session.execute_async(TEXT)
    error = InterruptedWaitError()

    class Value:
        def __str__(self):
            raise error

    interrupted(future.result, error)
    with pytest.raises(InterruptedWaitError):
        session.execute("SELECT a FROM b WHERE c = %s", [Value()])

    assert seen.names() == ["SELECT b"]
    future.result()
    assert seen.one().status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("how", ["execute", "page"])
def test_a_request_that_nobody_waits_for_ends(traced, server, interrupted, how):
    """With the exception, which has nothing of ours; its late result changes nothing."""
    session, seen = traced
    result = session.execute(TEXT)
    server.answer(TEXT, delay=300)
    result.response_future._paging_state = b"more"
    seen.spans()
    error = InterruptedWaitError()

    interrupted(result.fetch_next_page if how == "page" else lambda: session.execute(TEXT), error)

    span = seen.one()
    assert (span.status.status_code, vars(error)) == (StatusCode.ERROR, {})
    assert span.attributes["error.type"].endswith("InterruptedWaitError")
    time.sleep(0.4)
    assert seen.spans() == ()


@pytest.mark.parametrize("again", [False, True])
def test_uninstrumented_in_flight_the_span_ends(traced, server, instrumentor, wrap, again):
    """Without its result, which nothing of ours sees any more; instrumented again, it does not end twice."""
    session, seen = traced
    server.answer(TEXT, delay=200)
    future = session.execute_async(TEXT)

    instrumentor.uninstrument()
    if again:
        wrap()
    span = seen.one()
    future.result()

    assert (span.name, span.status.status_code, CALL in vars(future)) == ("SELECT users", StatusCode.UNSET, False)
    assert seen.spans() == ()
