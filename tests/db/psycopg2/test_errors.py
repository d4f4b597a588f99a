"""Whatever goes wrong is told as it should be, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import io
import os
import signal
import threading

import psycopg2
import psycopg2.errors
import psycopg2.extensions
import psycopg2.extras
import pytest
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode

ERRORS = {
    "unique": (
        lambda c: c.execute("INSERT INTO t VALUES (%s, 'secret')", (1,)),
        psycopg2.errors.UniqueViolation,
        "23505",
    ),
    "syntax": (lambda c: c.execute("SELEC 'secret'"), psycopg2.errors.SyntaxError, "42601"),
    "no table": (lambda c: c.execute("SELECT 'secret' FROM nothing"), psycopg2.errors.UndefinedTable, "42P01"),
    "bad value": (lambda c: c.execute("SELECT 'secret'::int"), psycopg2.errors.InvalidTextRepresentation, "22P02"),
    "many": (
        lambda c: c.executemany("INSERT INTO t VALUES (%s)", [(1,)]),
        psycopg2.errors.UniqueViolation,
        "23505",
    ),
    "values": (
        lambda c: psycopg2.extras.execute_values(c, "INSERT INTO t VALUES %s", [(1, "secret")]),
        psycopg2.errors.UniqueViolation,
        "23505",
    ),
    "copy": (
        lambda c: c.copy_from(io.StringIO("secret\tsecret\n"), "t"),
        psycopg2.errors.InvalidTextRepresentation,
        "22P02",
    ),
    "timeout": (
        lambda c: c.execute("SET statement_timeout = 20; SELECT pg_sleep(5)"),
        psycopg2.errors.QueryCanceled,
        "57014",
    ),
    "wrong type": (lambda c: c.execute(7), TypeError, "TypeError"),
    "no adapter": (
        lambda c: c.execute("SELECT %s", [object()]),
        psycopg2.ProgrammingError,
        "psycopg2.ProgrammingError",
    ),
    "nothing": (lambda c: c.execute("/* a comment */"), psycopg2.ProgrammingError, "psycopg2.ProgrammingError"),
    "empty": (lambda c: c.execute(""), psycopg2.ProgrammingError, "psycopg2.ProgrammingError"),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_told(look, kind):
    """Its SQLSTATE or type, in the span and in the metric; the status and attributes have no value of a row."""
    call, error, error_type = ERRORS[kind]

    def main(connection):
        with pytest.raises(error):
            call(connection.cursor())
        assert trace.get_current_span() is trace.INVALID_SPAN

    seen = look(main)

    span = seen.one()
    state = error_type if len(error_type) == 5 else None
    assert (span.status.status_code, span.attributes.get("db.response.status_code")) == (StatusCode.ERROR, state)
    assert span.attributes["error.type"] == error_type
    assert span.status.description == error.__qualname__
    assert "secret" not in span.name + str(dict(span.attributes)).replace(
        "INSERT INTO t VALUES (%s, 'secret')", "with parameters"
    )
    assert len(span.events) == 1
    points = [dict(point.attributes) for point in seen.metrics()["db.client.operation.duration"]]
    assert error_type in [point.get("error.type") for point in points]


def test_the_connection_works_after_each(look):
    """What failed leaves nothing in our way."""

    def main(connection):
        for call, error, _ in ERRORS.values():
            with pytest.raises(error):
                call(connection.cursor())
            cursor = connection.cursor()
            cursor.execute("SELECT 7")
            assert cursor.fetchone() == (7,)

    look(main)


def test_a_keyboard_interrupt_is_an_error(look):
    """With a wait callback, as psycopg2's own, that cancels the query."""

    def main(connection):
        psycopg2.extensions.set_wait_callback(psycopg2.extras.wait_select)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            with pytest.raises((KeyboardInterrupt, psycopg2.errors.QueryCanceled)):
                connection.cursor().execute("SELECT pg_sleep(5)")
        finally:
            psycopg2.extensions.set_wait_callback(None)

    span = look(main).one()

    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] in {"KeyboardInterrupt", "57014"}


def test_a_query_that_another_thread_cancels_is_an_error(look):
    """Cancelling has no span of its own."""

    def main(connection):
        timer = threading.Timer(0.3, connection.cancel)
        timer.start()
        with pytest.raises(psycopg2.errors.QueryCanceled):
            connection.cursor().execute("SELECT pg_sleep(5)")
        timer.join()

    assert look(main).one().attributes["error.type"] == "57014"


def test_a_closed_connection_is_told(look):
    """The error is psycopg2's, also if the connection was never used before."""

    def main(connection):
        cursor = connection.cursor()
        connection.close()
        with pytest.raises(psycopg2.InterfaceError, match="closed"):
            cursor.execute("SELECT 1")
        with pytest.raises(psycopg2.InterfaceError, match="closed"):
            connection.commit()
        with pytest.raises(psycopg2.InterfaceError, match="closed"):
            connection.cursor()

    assert [span.attributes["error.type"] for span in look(main).spans()] == ["psycopg2.InterfaceError"]


def test_a_server_process_that_is_killed_is_told(look, run):
    """In the middle of a query."""

    def main(connection):
        process = connection.info.backend_pid
        kill = "SELECT pg_terminate_backend(%s)"
        timer = threading.Timer(0.3, run, (lambda other: other.cursor().execute(kill, [process]),))
        timer.start()
        with pytest.raises(psycopg2.OperationalError):
            connection.cursor().execute("SELECT pg_sleep(5)")
        timer.join()
        assert connection.closed

    (span,) = [span for span in look(main).spans() if span.status.status_code is StatusCode.ERROR]

    assert span.attributes["error.type"] in {"57P01", "psycopg2.errors.AdminShutdown", "psycopg2.OperationalError"}


def test_suppressed_nothing_is_seen(look):
    """By either key; what psycopg2 does is done."""

    def main(connection):
        for key in (context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"):
            token = context.attach(context.set_value(key, value=True))
            try:
                cursor = connection.cursor()
                cursor.execute("SELECT 1")
                assert cursor.fetchone() == (1,)
                psycopg2.extras.execute_batch(cursor, "SELECT %s", [(1,), (2,)])
                cursor.copy_to(io.StringIO(), "t")
                named = connection.cursor("mine", withhold=True)
                named.execute("SELECT id FROM t")
                assert len(list(named)) == 10
                named.close()
                connection.commit()
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
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
        cursor.copy_to(io.StringIO(), "t")
        monkeypatch.undo()

    assert look(main).spans() == ()
    assert sum(no_faults.counts().values()) >= 2
    assert 1 <= len(logged()) <= 3
    no_faults._counts.clear()
