"""Whatever goes wrong is told as it should be, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import os
import signal
import threading

import psycopg2
import psycopg2.errors
import psycopg2.extensions
import psycopg2.extras
import pytest
from opentelemetry.trace import StatusCode


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
