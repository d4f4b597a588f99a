"""Whatever goes wrong is told as it should be, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import psycopg
import pytest
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode

ERRORS = {
    "unique": (
        lambda c: c.execute("INSERT INTO t VALUES (%s, 'secret')", (1,)),
        psycopg.errors.UniqueViolation,
        "23505",
    ),
    "syntax": (lambda c: c.execute("SELEC 'secret'"), psycopg.errors.SyntaxError, "42601"),
    "no table": (lambda c: c.execute("SELECT 'secret' FROM nothing"), psycopg.errors.UndefinedTable, "42P01"),
    "bad value": (lambda c: c.execute("SELECT 'secret'::int"), psycopg.errors.InvalidTextRepresentation, "22P02"),
    "many": (
        lambda c: c.cursor().executemany("INSERT INTO t VALUES (%s)", [(1,)]),
        psycopg.errors.UniqueViolation,
        "23505",
    ),
    "timeout": (
        lambda c: c.execute("SET statement_timeout = 20; SELECT pg_sleep(5)"),
        psycopg.errors.QueryCanceled,
        "57014",
    ),
    "wrong type": (lambda c: c.execute(7), TypeError, "TypeError"),
    "no adapter": (lambda c: c.execute("SELECT %s", [object()]), psycopg.ProgrammingError, "psycopg.ProgrammingError"),
    "placeholder": (
        lambda c: c.execute("SELECT '%x'", ["secret"]),
        psycopg.ProgrammingError,
        "psycopg.ProgrammingError",
    ),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_told(look_both, kind):
    """Its SQLSTATE or type, in the span and in the metric; the status and attributes have no value of a row."""
    call, error, error_type = ERRORS[kind]

    def main(connection):
        if isinstance(connection, psycopg.AsyncConnection):
            return _awaited(call, connection, error)
        with pytest.raises(error):
            call(connection)
        assert trace.get_current_span() is trace.INVALID_SPAN
        return None

    seen = look_both(main)

    span = seen.one()
    state = error_type if len(error_type) == 5 else None
    assert (span.status.status_code, span.attributes.get("db.response.status_code")) == (StatusCode.ERROR, state)
    assert span.attributes["error.type"] == error_type
    assert span.status.description == error.__qualname__
    assert "secret" not in span.name + str({**span.attributes, "db.query.text": ""})
    assert len(span.events) == 1
    points = [dict(point.attributes) for point in seen.metrics()["db.client.operation.duration"]]
    assert error_type in [point.get("error.type") for point in points]


async def _awaited(call, connection, error):
    with pytest.raises(error):
        await call(connection)
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_the_connection_works_after_each(look):
    """What failed leaves nothing in our way; the context is as before."""

    def main(connection):
        for call, error, _ in ERRORS.values():
            with pytest.raises(error):
                call(connection)
            assert connection.execute("SELECT 7").fetchone() == (7,)

    look(main)


def _cancelling(main, awaited):
    """A program that cancels its query."""

    async def program(connection):
        task = asyncio.create_task(main(connection))
        while connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.ACTIVE:  # noqa: ASYNC110  # no event
            await asyncio.sleep(0.01)
        await awaited(task)

    return program


async def _cancel(task):
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _time_out(task):
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(task, 0.02)


@pytest.mark.parametrize("how", [_cancel, _time_out])
def test_a_cancelled_query_is_an_error(look_async, how):
    """By cancelling its task, or by `wait_for`; with the stock instrumentation its status is unset."""
    span = look_async(_cancelling(lambda connection: connection.execute("SELECT pg_sleep(5)"), how)).one()

    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "asyncio.exceptions.CancelledError"
    assert span.events == ()


def test_a_keyboard_interrupt_is_an_error(look):
    """The query ends with it; the connection goes on."""

    def main(connection):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            connection.execute("SELECT pg_sleep(5)")
        assert connection.execute("SELECT 7").fetchone() == (7,)

    first, second = look(main).spans()

    assert (first.status.status_code, first.attributes["error.type"]) == (StatusCode.ERROR, "KeyboardInterrupt")
    assert second.status.status_code is StatusCode.UNSET


def test_an_interrupt_while_parameters_are_read(look):
    """The option reads them with their `repr`, which Ctrl-C may interrupt: nothing is left behind."""

    class Stops:
        def __repr__(self):
            raise KeyboardInterrupt

    def main(connection):
        with pytest.raises(KeyboardInterrupt):
            connection.execute("SELECT %s", (Stops(),))
        assert trace.get_current_span() is trace.INVALID_SPAN
        assert connection.execute("SELECT 7").fetchone() == (7,)

    first, second = look(main, options="parameters").spans()

    assert (first.status.status_code, first.attributes["error.type"]) == (StatusCode.ERROR, "KeyboardInterrupt")
    assert second.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("method", ["cancel", "cancel_safe"])
def test_a_query_that_another_thread_cancels_is_an_error(look, method):
    """Cancelling has no span of its own."""

    def main(connection):
        timer = threading.Timer(0.3, getattr(connection, method))
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(5)")
        timer.join()

    assert look(main).one().attributes["error.type"] == "57014"


def test_a_closed_connection_is_told(look):
    """The error is psycopg's."""

    def main(connection):
        cursor = connection.cursor()
        connection.close()
        with pytest.raises(psycopg.OperationalError, match="closed"):
            cursor.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="closed"):
            connection.commit()

    assert {span.attributes["error.type"] for span in look(main).spans()} == {"psycopg.OperationalError"}


def test_a_closed_connection_from_before_is_told(wrap, database_url):
    """Its server is not known any more."""
    connection = psycopg.connect(database_url)
    cursor = connection.cursor()
    connection.close()
    seen = wrap()

    with pytest.raises(psycopg.OperationalError, match="closed"):
        cursor.execute("SELECT 1")

    assert "server.address" not in seen.one().attributes


def test_a_server_process_that_is_killed_is_told(look, database_url):
    """In the middle of a query; a new connection works."""

    def main(connection):
        with psycopg.connect(database_url, autocommit=True) as other:
            kill = "SELECT pg_terminate_backend(%s)"
            timer = threading.Timer(0.3, other.execute, (kill, [connection.info.backend_pid]))
            timer.start()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT pg_sleep(5)")
            timer.join()

    (span,) = [span for span in look(main).spans() if span.status.status_code is StatusCode.ERROR]

    assert span.attributes["error.type"] == "57P01"


def test_suppressed_nothing_is_seen(look):
    """By either key; what psycopg does is done."""

    def main(connection):
        for key in (context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"):
            token = context.attach(context.set_value(key, value=True))
            try:
                assert connection.execute("SELECT 1").fetchone() == (1,)
                connection.cursor().executemany("SELECT %s::int", [(1,), (2,)])
                assert len(list(connection.cursor().stream("SELECT id FROM t"))) == 10
                with connection.transaction(), connection.cursor("mine") as cursor:
                    assert len(cursor.execute("SELECT id FROM t").fetchall()) == 10
                with connection.cursor().copy("COPY t TO STDOUT") as copy:
                    assert len(list(copy)) == 10
                with connection.pipeline():
                    connection.execute("SELECT 1")
            finally:
                context.detach(token)

    assert look(main).spans() == ()


def test_a_fault_of_ours_is_not_the_applications(look, no_faults, monkeypatch, logged):
    """The query runs once and gives its result."""
    from otel_fastpath.db import conventions

    def broken(_text):
        raise ZeroDivisionError

    def main(connection):
        monkeypatch.setattr(conventions, "read", broken)
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert [row[0] for row in connection.cursor().stream("SELECT 3")] == [3]
        with connection.cursor().copy("COPY t TO STDOUT") as copy:
            assert len(list(copy)) == 10
        monkeypatch.undo()

    assert look(main).spans() == ()
    assert sum(no_faults.counts().values()) >= 3
    assert 1 <= len(logged()) <= 3
    no_faults._counts.clear()
