"""Errors, timeouts, retries and speculative executions: each request has one span, and it tells what happened."""

from __future__ import annotations

import signal
import threading
import time

import pytest
from cassandra import OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    RoundRobinPolicy,
)
from cassandra.query import BatchStatement, SimpleStatement
from opentelemetry.trace import StatusCode

TEXT = "SELECT name FROM users"
READ_TIMEOUT = {"consistency_level": "ONE", "received": 0, "block_for": 1, "data_present": False}


def profile(**settings):
    """The settings of a cluster with this execution profile."""
    given = {"retry_policy": FallthroughRetryPolicy(), "load_balancing_policy": RoundRobinPolicy(), **settings}
    return {"execution_profiles": {EXEC_PROFILE_DEFAULT: ExecutionProfile(**given)}}


def test_a_timeout_of_the_client_is_an_error(traced, server):
    """At the time when the driver gives up; without a coordinator, but with the node that was asked."""
    session, seen = traced
    server.answer(TEXT, delay=2000)

    with pytest.raises(OperationTimedOut):
        session.execute(TEXT, timeout=0.1)

    span = seen.one()
    assert (span.status.status_code, span.attributes["error.type"]) == (
        StatusCode.ERROR,
        "cassandra.OperationTimedOut",
    )
    assert 0.09 < (span.end_time - span.start_time) / 1e9 < 1.9
    assert span.attributes["network.peer.port"] in server.ports
    assert "cassandra.coordinator.id" not in span.attributes


def test_what_cannot_be_sent_is_an_error(traced):
    """Values that do not fit, an unknown profile: the exception is the driver's, and the span has ended."""
    session, seen = traced
    statement = session.prepare("SELECT a FROM b WHERE c = ?")
    seen.spans()

    with pytest.raises(ValueError, match="Too many"):
        session.execute(statement, ["a", "b"])
    with pytest.raises(ValueError, match="profile"):
        session.execute_async(TEXT, execution_profile="missing")
    with pytest.raises(AttributeError):
        session.execute(object())
    with pytest.raises(TypeError):
        session.execute_async()

    assert [span.status.status_code for span in seen.spans()] == [StatusCode.ERROR] * 4


@pytest.mark.parametrize("text", [["SELECT a FROM b"], 5])
def test_what_is_no_text_is_the_applications_error(traced, text):
    """The driver raises it, alone and in a batch; it is no fault of ours."""
    session, seen = traced
    statement = SimpleStatement(text)
    batches = BatchStatement().add(statement), BatchStatement().add("DELETE FROM a").add(statement).add(statement)

    for each in (statement, *batches):
        with pytest.raises(Exception, match=r"str|encode|int|list"):
            session.execute(each)

    assert [(span.name, span.status.status_code) for span in seen.spans()] == [
        ("shop", StatusCode.ERROR),
        ("shop", StatusCode.ERROR),
        ("BATCH", StatusCode.ERROR),
    ]


def test_no_host_is_an_error(wrap, connect):
    """When all are gone."""
    session = connect()
    seen = wrap()
    session.cluster.shutdown()

    with pytest.raises((NoHostAvailable, Exception)):
        session.execute(TEXT)

    assert seen.one().status.status_code is StatusCode.ERROR


class Retrying(RetryPolicy):
    """Retries twice on the next host."""

    def on_read_timeout(self, *_args, retry_num, **_kwargs):
        """Retry, or not."""
        return (self.RETRY_NEXT_HOST, None) if retry_num < 2 else (self.RETHROW, None)


def test_retries_are_counted(wrap, connect, server):
    """In one span, with the node that answered."""
    for node in (0, 1):
        server.answer(TEXT, node=node, error=("read_timeout", READ_TIMEOUT))
    server.answer(TEXT, node=2, rows=[{"a": 1}], types={"a": "int"})
    session = connect(**profile(retry_policy=Retrying()))
    seen = wrap()

    for _ in range(3):
        session.execute(TEXT)

    spans = seen.spans()
    assert [span.status.status_code for span in spans] == [StatusCode.UNSET] * 3
    assert sorted(span.attributes.get("cassandra.retry.count", 0) for span in spans) == [0, 1, 2]
    assert {span.attributes["network.peer.port"] for span in spans} == {server.ports[2]}


@pytest.mark.proves("cassandra.speculative")
def test_speculative_executions_are_counted(wrap, connect, server):
    """In one span, which ends with the first answer; the second one changes nothing.

    A busy machine may answer later than the policy waits: the driver knows to how many nodes each was sent.
    """
    server.answer(TEXT, node=0, delay=1500)
    for node in (1, 2):
        server.answer(TEXT, node=node, rows=[{"a": 1}], types={"a": "int"})
    session = connect(**profile(speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.15, 2)))
    seen = wrap()
    statement = SimpleStatement(TEXT, is_idempotent=True)

    futures = []
    for _ in range(3):
        futures.append(session.execute_async(statement))
        futures[-1].result()
    time.sleep(1.6)

    counts = [len(future.attempted_hosts) - 1 for future in futures]
    spans = seen.spans()
    assert any(counts)
    assert [span.attributes.get("cassandra.speculative_execution.count", 0) for span in spans] == counts
    assert all((span.end_time - span.start_time) / 1e9 < 1.4 for span in spans)
    assert server.ports[0] not in {span.attributes["network.peer.port"] for span in spans}


def test_a_node_that_is_cut_off_is_told(wrap, connect, server):
    """In the middle of a request, which the driver does not repeat."""
    server.answer(TEXT, delay=3000)
    session = connect(**profile())
    seen = wrap()
    future = session.execute_async(TEXT)

    time.sleep(0.1)
    for node in range(3):
        server.cut(node)

    with pytest.raises(Exception, match=r"shut|closed|defunct|unable|peer|reset"):
        future.result()
    assert seen.one().status.status_code is StatusCode.ERROR


@pytest.mark.proves("cassandra.wait", "cassandra.wait.execute")
def test_an_interrupted_wait_is_an_error(traced, server):
    """At once, although the result arrives later, when nobody waits for it."""
    session, seen = traced
    server.answer(TEXT, delay=400)

    class Interrupted(BaseException):
        """Not an error."""

    def interrupt(*_args):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interrupted):
            session.execute(TEXT)
    finally:
        signal.signal(signal.SIGALRM, before)

    span = seen.one()
    assert (span.status.status_code, span.events) == (StatusCode.ERROR, ())
    assert span.attributes["error.type"].endswith("Interrupted")
    time.sleep(0.5)
    assert seen.spans() == ()


def test_an_interrupted_wait_for_a_future_goes_on(traced, server):
    """The application may wait again: the span ends with the result."""
    session, seen = traced
    server.answer(TEXT, delay=300)

    def interrupt(*_args):
        raise KeyError("mine")

    future = session.execute_async(TEXT)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyError):
            future.result()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen.spans() == ()
    future.result()

    assert seen.one().status.status_code is StatusCode.UNSET


def test_many_threads_share_a_session(traced, server):
    """Each request has its span, in the trace of its thread."""
    session, seen = traced
    server.answer(TEXT, delay=5)
    started = threading.Barrier(20)

    def work():
        started.wait()
        for _ in range(10):
            session.execute(TEXT)

    threads = [threading.Thread(target=work) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    spans = seen.spans()
    assert len(spans) == seen.started == 200
    assert {(span.name, span.status.status_code) for span in spans} == {("SELECT users", StatusCode.UNSET)}
