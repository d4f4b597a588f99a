"""Whatever telemetry raises around a request: the outcome is the driver's, and the context as before."""

from __future__ import annotations

import inspect
import logging

import pytest
from cassandra import InvalidRequest, cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement
from opentelemetry import context
from sabotage import ABSORBED, FOREIGN, Odd, Sabotage, as_ours, broken, broken_logging, plain, raising_once

from otel_fastpath.db import database
from otel_fastpath.db.cassandra import callbacks, cql, futures, hooks, plans, statements
from otel_fastpath.wrapping import call as calls

# The place of a function of ours that some of the requests come through.
OWN = {
    "new link": (database.Database, "new_link"),
    "read": (cql, "read"),
    "plan": (plans.Plans, "plan"),
    "batch": (plans.Plans, "of_batch"),
    "statements": (statements, "of_batch"),
    "server": (plans, "address_of"),
    "end": (plans.Plans, "end"),
    "look": (hooks, "_look"),
    "callback": (callbacks, "carrying"),
    "speculative": (futures, "_attempts"),
    "interrupted": (futures, "_end_interrupted"),
    "series": (calls.CallDurations, "record_failed"),
    "code": (plans, "_CODES"),
}


@pytest.fixture
def everything(instrumentor, core, connect, server):
    """`everything(**providers)`: each kind of request once; what came of it must be the driver's own."""
    server.answer("SELECT a FROM b", rows=[{"a": 1}], types={"a": "int"})
    server.answer("SELECT wrong", error=("invalid", {"message": "mine"}))

    def main():
        before = context.get_current()
        session = connect()
        statement = session.prepare("INSERT INTO users (id) VALUES (?)")
        assert session.execute("SELECT a FROM b").one().a == 1
        assert session.execute(statement, ["a"]).all() == []
        session.execute(BatchStatement().add(statement, ["a"]).add("DELETE FROM a"))
        results = execute_concurrent_with_args(session, statement, [("a",)] * 30, concurrency=5)
        assert {result.success for result in results} == {True}
        for call in (session.execute, lambda text: session.execute_async(text).result()):
            with pytest.raises(InvalidRequest, match="mine"):
                call("SELECT wrong")
        result = session.execute("SELECT a FROM b")
        result.response_future._paging_state = b"more"
        result.fetch_next_page()
        assert result.current_rows[0].a == 1
        session.execute("SELECT a FROM b").response_future._on_speculative_execute()
        found = []
        session.execute_async("SELECT a FROM b").add_callback(found.append)
        session.set_keyspace("other")
        session.cluster.shutdown()
        assert context.get_current() is before

    def run(sabotage=lambda: None, **providers):
        settings = {"telemetry": "full", "disabled": "exceptions", "cassandra_options": "parameters,slow=1us,repeats=2"}
        instrumentor.instrument(core=core, **settings, **providers)
        sabotage()
        token = context.attach(context.set_value("mine", 1))
        try:
            with broken_logging():
                main()
        finally:
            context.detach(token)

    return run


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(everything, saboteur, caplog):
    """Of an instrument or a processor of log records, and our log besides."""
    caplog.set_level(logging.WARNING, logger="opentelemetry")

    everything(**FOREIGN[saboteur]())

    assert [line for line in caplog.messages if "detach" in line] == []


@pytest.mark.parametrize("saboteur", ["on_ending", "on_end"])
def test_the_result_arrives_whatever_a_processor_raises(instrumentor, core, connect, server, saboteur):
    """A request ends in the driver's thread, which brings the result all the same."""
    server.answer("SELECT a FROM b", rows=[{"a": 1}], types={"a": "int"})
    session = connect()
    instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
    with broken_logging():
        assert session.execute("SELECT a FROM b").one().a == 1
    session.cluster.shutdown()


@pytest.mark.parametrize("saboteur", ["on_start", "processor", "sampler", "ids"])
def test_an_error_of_the_set_up_is_raised(instrumentor, core, connect, server, saboteur):
    """The error of a processor, sampler or id generator is the application's to see, and the next request works."""
    server.answer("SELECT a FROM b", rows=[{"a": 1}], types={"a": "int"})
    session = connect()
    instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
    with raising_once():
        session.execute("SELECT a FROM b")
    instrumentor.uninstrument()
    assert session.execute("SELECT a FROM b").one().a == 1
    session.cluster.shutdown()


@pytest.mark.parametrize("place", [name for name in OWN if name not in {"code", "interrupted"}])
def test_a_fault_of_ours_is_counted_only(everything, no_faults, monkeypatch, place):
    """In whichever function of the wrapper."""
    everything(lambda: monkeypatch.setattr(*OWN[place], as_ours(broken)), **plain())

    assert no_faults.counts()


@pytest.mark.parametrize("error", [Odd(), Sabotage(), KeyboardInterrupt(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("where", ["submission", "result"])
def test_an_exception_is_the_very_same(wrap, monkeypatch, session, where, error):
    """Whatever the driver raises, also what cannot be made a text."""

    def broken_method(*_args, **_kwargs):
        raise error

    owner, name = (cluster.Session, "execute_async") if where == "submission" else (cluster.ResponseFuture, "result")
    monkeypatch.setattr(owner, name, broken_method)
    wrap()
    before = context.get_current()

    with pytest.raises(type(error)) as raised:
        session.execute("SELECT a FROM b")

    assert raised.value is error
    assert context.get_current() is before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_asks_to_stop_is_heard(wrap, monkeypatch, session, seen, stop):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""
    wrap()
    before = context.get_current()

    def interrupted(*_args, **_kwargs):
        raise stop

    with monkeypatch.context() as patched:
        patched.setattr(seen.tracer_provider._active_span_processor._span_processors[0], "on_start", interrupted)
        with pytest.raises(stop):
            session.execute("SELECT a FROM b")

    assert context.get_current() is before
    session.execute("SELECT a FROM b")


@pytest.mark.parametrize("name", ["execute", "execute_async", "prepare"])
def test_methods_look_as_before(wrap, session, name):
    """Their names, signatures and documentation."""
    before = getattr(cluster.Session, name)
    described = before.__name__, before.__doc__, inspect.signature(before)

    wrap()

    method = getattr(cluster.Session, name)
    assert (method.__name__, method.__doc__, inspect.signature(method)) == described
    assert session


def test_a_million_characters_take_no_longer(wrap, session):
    """They are cut before they are read, and not kept."""
    seen = wrap()

    session.execute("SELECT a FROM b WHERE c = '" + "x" * 1_000_000 + "'")
    session.execute("INSERT INTO b (c) VALUES (" + "1," * 500_000 + "1)")

    assert [span.name for span in seen.spans()] == ["SELECT b", "INSERT b"]
