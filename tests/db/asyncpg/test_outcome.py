"""Whatever telemetry raises around a call of asyncpg: the outcome is asyncpg's, and the context as before."""

from __future__ import annotations

import contextvars

import asyncpg
import pytest
from sabotage import as_ours, broken

from otel_fastpath.db.asyncpg import query_plans
from otel_fastpath.wrapping import call as calls


def test_a_description_that_fails_loses_nothing_else(wrap, run, no_faults, seen, monkeypatch):
    """The span ends, with the type of the exception, and the duration is recorded."""
    wrap()
    monkeypatch.setattr(query_plans.DATABASE.active.telemetry, "describe", as_ours(broken))

    async def main(connection):
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nothing")

    run(main)

    span = seen.spans()[-1]
    assert span.attributes["error.type"].endswith("UndefinedTableError")
    assert no_faults.counts()
    no_faults.forget()


def test_a_metric_that_fails_does_not_lose_the_span(wrap, run, no_faults, seen, monkeypatch):
    """Of a call that failed and of one that did not."""
    wrap()
    monkeypatch.setattr(calls.CallDurations, "record_failed", as_ours(broken))

    async def main(connection):
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nothing")

    run(main)

    assert [span.name for span in seen.spans()] == ["CONNECT", "SELECT nothing"]
    assert no_faults.counts()
    no_faults.forget()


@pytest.mark.parametrize("what", ["connect", "query"])
def test_it_can_be_given_up_in_another_context(wrap, seen, monkeypatch, caplog, what):
    """Its coroutine is closed elsewhere: no error there, no line in the log, and the next one is a span again."""

    class Never:
        def __await__(self):
            yield

    async def never(*_args):
        await Never()

    connection = asyncpg.Connection.__new__(asyncpg.Connection)
    connection._aborted = True
    connection._protocol = type("Protocol", (), {"is_connected": lambda _: True})()
    monkeypatch.setattr(*(asyncpg, "connect") if what == "connect" else (asyncpg.Connection, "fetch"), never)
    wrap()

    def begin():
        return asyncpg.connect() if what == "connect" else connection.fetch("SELECT 1")

    here = contextvars.copy_context()
    coroutine = begin()
    here.run(coroutine.send, None)

    coroutine.close()

    again = here.run(begin)
    here.run(again.send, None)
    here.run(again.close)
    assert seen.names() == ["CONNECT" if what == "connect" else "SELECT"] * 2
    assert caplog.messages == []
