"""Asynchronous connections: a span ends when `poll` says that the result is there."""

from __future__ import annotations

import gc
import select
import socket

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import pytest
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode


def wait(connection):
    """Poll until nothing is under way."""
    while True:
        state = connection.poll()
        if state == psycopg2.extensions.POLL_OK:
            return
        if state == psycopg2.extensions.POLL_WRITE:
            select.select([], [connection.fileno()], [], 10)
        else:
            select.select([connection.fileno()], [], [], 10)


@pytest.fixture
def connected(wrap, database_url):
    """An asynchronous connection, and what was seen of its connect."""
    seen = wrap("rows")
    connection = psycopg2.connect(database_url, async_=True)
    assert seen.spans() == ()
    wait(connection)
    yield connection, seen
    connection.close()


def test_connecting_ends_when_it_is_connected(connected):
    """Not with the call of `connect`."""
    assert connected[1].names() == ["CONNECT"]


def test_a_query_ends_with_its_result(connected):
    """With the stock instrumentation, when it was sent; the application's code between has its own current span."""
    connection, seen = connected
    seen.spans()
    before = context.get_current()
    cursor = connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor)
    cursor.execute("SELECT pg_sleep(0.3)")
    assert seen.spans() == ()
    assert context.get_current() is before
    assert trace.get_current_span() is trace.INVALID_SPAN

    wait(connection)

    span = seen.one()
    assert (span.name, span.attributes["db.response.returned_rows"]) == ("SELECT", 1)
    assert span.end_time - span.start_time > 250_000_000
    assert cursor.fetchall() == [{"pg_sleep": ""}]
    cursor.callproc("pg_backend_pid")
    wait(connection)
    assert seen.names() == ["CALL pg_backend_pid"]
    wait(connection)
    assert seen.spans() == ()


def test_an_error_is_that_of_its_query(connected):
    """Whether it comes when the query is sent, or with the result."""
    connection, seen = connected
    seen.spans()
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM nothing")
    with pytest.raises(psycopg2.errors.UndefinedTable):
        wait(connection)
    cursor.execute("SELECT pg_sleep(0.1)")
    with pytest.raises(psycopg2.ProgrammingError):
        cursor.execute("SELECT 2")
    wait(connection)

    failed, refused, done = seen.spans()
    assert (failed.attributes["error.type"], failed.status.status_code) == ("42P01", StatusCode.ERROR)
    assert (refused.attributes["error.type"], refused.attributes["db.query.text"]) == (
        "psycopg2.ProgrammingError",
        "SELECT ?",
    )
    assert (done.status.status_code, done.attributes["db.query.summary"]) == (StatusCode.UNSET, "SELECT")


def test_a_connection_that_is_closed_has_no_result(connected):
    """As an application gives up: the query that was under way has ended with it."""
    connection, seen = connected
    seen.spans()
    connection.cursor().execute("SELECT pg_sleep(10)")

    connection.close()

    span = seen.one()
    assert (span.name, span.status.status_code) == ("SELECT", StatusCode.ERROR)
    assert span.attributes["error.type"] == "psycopg2.InterfaceError"
    connection.close()
    assert seen.spans() == ()


def test_a_connect_that_is_given_up_is_an_error(wrap):
    """Likewise."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        seen = wrap()

        connection = psycopg2.connect(url, async_=True)
        connection.poll()
        connection.close()

    span = seen.one()
    assert (span.name, span.attributes["error.type"]) == ("CONNECT", "psycopg2.InterfaceError")


def test_a_refused_connect_is_an_error(wrap):
    """When `poll` says so, or `connect`."""
    seen = wrap()

    with pytest.raises(psycopg2.OperationalError):
        wait(psycopg2.connect("postgresql://nobody@127.0.0.1:1/nothing", async_=True))

    span = seen.one()
    assert (span.name, span.attributes["error.type"]) == ("CONNECT", "psycopg2.OperationalError")


def test_with_a_wait_callback_a_span_ends_with_its_call(wrap, run):
    """As with psycogreen: psycopg2 polls inside of `execute`."""
    psycopg2.extensions.set_wait_callback(wait)
    try:
        seen = wrap()

        def main(connection):
            seen.spans()
            connection.cursor().execute("SELECT pg_sleep(0.1)")
            (span,) = seen.spans()
            assert span.end_time - span.start_time > 90_000_000

        run(main)
    finally:
        psycopg2.extensions.set_wait_callback(None)


@pytest.mark.parametrize("text", [None, "SELECT pg_sleep(10)"], ids=["connect", "query"])
def test_a_connection_that_is_let_go_of_has_no_result(wrap, database_url, text):
    """As a time limit interrupts waiting for it: what was under way has ended."""
    seen = wrap()
    connection = psycopg2.connect(database_url, async_=True)
    if text is not None:
        wait(connection)
        seen.spans()
        connection.cursor().execute(text)
    assert seen.spans() == ()

    del connection
    gc.collect()

    span = seen.one()
    assert (span.name, span.status.status_code) == ("CONNECT" if text is None else "SELECT", StatusCode.ERROR)
    assert span.attributes["error.type"] == "psycopg2.InterfaceError"
