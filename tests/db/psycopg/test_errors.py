"""Whatever goes wrong is told as it should be, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode


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
