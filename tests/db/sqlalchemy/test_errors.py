"""What is told of errors: the driver's exception and its code, and no data of a row or a parameter in a status."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest
import sqlalchemy as sa
from newer_releases import older
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy_tables import T, select_one

SECRET = {"id": 1, "v": "the secret"}


def test_the_drivers_exception_is_told(wrap, engine):
    """Not SQLAlchemy's, whose message has the statement and its parameters in it."""
    seen = wrap("no-transactions")

    with engine.connect() as connection, pytest.raises(exc.IntegrityError) as raised:
        connection.execute(T.insert(), SECRET)

    span = seen.one()
    assert "the secret" in str(raised.value)
    assert (span.status.status_code.name, span.status.description) == ("ERROR", "IntegrityError")
    (event,) = span.events
    assert event.attributes["exception.type"] == "sqlite3.IntegrityError"
    assert "the secret" not in str(dict(event.attributes)) + str(dict(span.attributes))


def test_a_sqlstate_is_the_code_and_the_type(wrap, url):
    """Of asyncpg's exception, as SQLAlchemy passes it on; the durations have it, too."""
    seen = wrap("no-transactions")

    async def main():
        engine = create_async_engine(url("asyncpg"))
        async with engine.connect() as connection:
            with pytest.raises(exc.DBAPIError):
                await connection.execute(sa.text("SELECT 1/0"))
        await engine.dispose()

    asyncio.run(main())

    span = seen.spans()[-1]
    assert span.attributes["error.type"] == span.attributes["db.response.status_code"] == "22012"
    points = seen.metrics()["db.client.operation.duration"]
    assert [p.attributes["error.type"] for p in points if "error.type" in p.attributes] == ["22012"]


def test_a_cancelled_statement_is_an_error(wrap, url):
    """And its span ends."""
    seen = wrap("no-transactions")

    async def main():
        engine = create_async_engine(url("asyncpg"))
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(connection.execute(sa.text("SELECT pg_sleep(5)")), 0.3)
        await engine.dispose()

    asyncio.run(main())

    spans = seen.spans()
    span = next(span for span in spans if "pg_sleep" in span.attributes.get("db.query.text", ""))
    assert (span.status.status_code.name, span.attributes["error.type"]) == (
        "ERROR",
        "asyncio.exceptions.CancelledError",
    )
    assert seen.started == len(spans)


def test_a_server_process_that_is_killed_is_told(wrap, url):
    """In the middle of a query; nothing is told of the rollback that can no longer be sent, and the pool goes on."""
    seen = wrap()
    engine = sa.create_engine(url("psycopg"))
    with engine.connect() as other, engine.connect() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        timer = threading.Timer(0.3, other.exec_driver_sql, (f"SELECT pg_terminate_backend({pid})",))
        seen.spans()
        before = seen.started
        timer.start()
        with pytest.raises(exc.OperationalError) as raised:
            connection.exec_driver_sql("SELECT pg_sleep(30)")
        timer.join()
        assert raised.value.connection_invalidated
        connection.rollback()
    with engine.connect() as again:
        assert again.exec_driver_sql("SELECT 1").scalar() == 1
    engine.dispose()

    spans = seen.spans()
    failed = [span for span in spans if span.status.status_code.name == "ERROR"]
    # Before 3.2.4, psycopg does not read the error that the server sends last.
    error = "psycopg.OperationalError" if older("psycopg", "3.2.4") else "57P01"
    assert [(span.name, span.attributes["error.type"]) for span in failed] == [("SELECT", error)]
    # That of the other connection, and that of the last one.
    assert [span.name for span in spans].count("ROLLBACK") == 2
    assert seen.started - before == len(spans)


def test_a_connect_that_fails_is_an_error(wrap):
    """Of the connect; nothing else is told. SQLite's errors have names since Python 3.11."""
    seen = wrap()
    engine = sa.create_engine("sqlite:////nowhere/at/all.db")

    with pytest.raises(exc.OperationalError):
        engine.connect()

    span = seen.one()
    name = "SQLITE_CANTOPEN" if sys.version_info >= (3, 11) else "sqlite3.OperationalError"
    assert (span.name, span.attributes["error.type"]) == ("CONNECT", name)


def test_a_pool_without_a_connection_is_an_error(wrap, tmp_path):
    """Stock's has a `connect` for each checkout; ours is made if it fails, with its whole duration."""
    seen = wrap("no-transactions")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/file.db", pool_size=1, max_overflow=0, pool_timeout=0.2)
    with engine.connect():
        seen.spans()
        with pytest.raises(exc.TimeoutError):
            engine.connect()
    engine.dispose()

    span = seen.one()
    assert (span.name, span.attributes["error.type"]) == ("pool.acquire", "sqlalchemy.exc.TimeoutError")
    assert span.end_time - span.start_time > 150e6
    assert [point.value for point in seen.metrics()["db.client.connection.timeouts"]] == [1]


def test_an_exception_that_skips_the_events_loses_no_span(wrap, engine):
    """With `skip_user_error_events`, the stock instrumentation never ends its span."""
    seen = wrap("no-transactions")

    with engine.connect() as connection, pytest.raises(exc.IntegrityError):
        connection.execution_options(skip_user_error_events=True).execute(T.insert(), SECRET)

    assert seen.started == len(seen.spans()) == 1


@pytest.mark.parametrize("error", [KeyError("x"), KeyboardInterrupt(), SystemExit()])
@pytest.mark.parametrize("event", ["before_cursor_execute", "after_cursor_execute"])
def test_whatever_a_listener_raises_reaches_the_application(wrap, engine, error, event):
    """The very same, and the span ends as an error."""
    seen = wrap("no-transactions")

    def fail(*_args):
        raise error

    sa.event.listen(engine, event, fail)
    with engine.connect() as connection, pytest.raises(type(error)) as raised:
        select_one(connection)

    assert raised.value is error
    spans = [span for span in seen.spans() if span.name == "SELECT t"]
    assert [span.status.status_code.name for span in spans] == ["ERROR"]


def test_an_exception_that_a_listener_replaces_is_told_as_it_is(wrap, engine):
    """By `handle_error`."""
    seen = wrap("no-transactions")

    @sa.event.listens_for(engine, "handle_error")
    def replace(context):
        raise LookupError("mine") from context.original_exception

    with engine.connect() as connection, pytest.raises(LookupError):
        connection.execute(T.insert(), SECRET)

    assert seen.one().attributes["error.type"] == "LookupError"


def test_parameters_that_do_not_fit_send_nothing(wrap, engine):
    """So there is no span."""
    seen = wrap("no-transactions")

    with engine.connect() as connection, pytest.raises(exc.StatementError):
        connection.execute(sa.select(T).where(T.c.id == sa.bindparam("missing")), {"other": 1})

    assert seen.spans() == ()
