"""Requests in flight: results that arrive during the submission."""

from __future__ import annotations

import threading

import pytest
from cassandra import InvalidRequest
from cassandra.cluster import ResponseFuture, Session
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.trace import StatusCode

TEXT = "SELECT name FROM users"


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
