"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import sqlite3

import pytest
from opentelemetry.trace import StatusCode


@pytest.mark.usefixtures("in_its_place")
@pytest.mark.parametrize("text", ["/* a comment */", "  "])
def test_a_comment_is_an_error_with_theirs_and_not_with_ours(stock_instrumentor, wrap, seen, connect, text):
    """IndexError in the application, before the query is sent."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with pytest.raises(IndexError):
        connect().cursor().execute(text)
    wrap(telemetry="same")

    connect().cursor().execute(text)

    assert seen.names()[-1] == "sqlite"


@pytest.mark.usefixtures("in_its_place")
def test_a_failed_statement_has_no_message_in_its_status(stock_instrumentor, wrap, seen, connect):
    """The message can have values of the statement or of a row: only the exception's event has it, as stock's has."""

    def fail():
        with pytest.raises(sqlite3.OperationalError):
            connect().cursor().execute("SELECT nope")
        return seen.one()

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    stock = fail()
    wrap(telemetry="same")
    ours = fail()

    assert stock.status.description == "OperationalError: no such column: nope"
    assert ours.status.description == "OperationalError"
    assert ours.status.status_code is stock.status.status_code
    assert dict(ours.attributes).keys() - dict(stock.attributes).keys() <= {"error.type", "db.response.status_code"}
    assert "error.type" in ours.attributes
    assert [event.attributes["exception.message"] for event in (*stock.events, *ours.events)] == [
        "no such column: nope",
        "no such column: nope",
    ]


@pytest.mark.usefixtures("in_its_place")
def test_an_interrupted_statement_is_an_error(stock_instrumentor, wrap, seen, connect):
    """Stock's span says nothing of it."""

    class Interrupting:
        def __conform__(self, protocol):
            raise KeyboardInterrupt

    def interrupt():
        with pytest.raises(KeyboardInterrupt):
            connect().cursor().execute("SELECT ?", (Interrupting(),))
        return seen.one().status.status_code

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    assert interrupt() is StatusCode.UNSET
    wrap(telemetry="same")

    assert interrupt() is StatusCode.ERROR


@pytest.mark.parametrize("is_own_name", [True, False])
def test_attributes_that_name_the_user(stock_instrumentor, wrap, seen, connect, monkeypatch, is_own_name):
    """An application's method in the place of stock's is called for each query, also for one that was seen before."""
    tracer = pytest.importorskip("opentelemetry.instrumentation.dbapi").CursorTracer
    populate, users = tracer._populate_span, []

    def _populate_span(self, span, cursor, *args):
        populate(self, span, cursor, *args)
        span.set_attribute("enduser.id", users[-1])

    if is_own_name:
        _populate_span.__module__ = populate.__module__
    monkeypatch.setattr(tracer, "_populate_span", _populate_span)
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    connection = connect()
    for user in ("ann", "bob", "eve"):
        users.append(user)
        connection.cursor().execute("SELECT 1")

    assert [span.attributes["enduser.id"] for span in seen.spans()] == ["ann", "bob", "eve"]


@pytest.mark.usefixtures("in_its_place")
def test_a_connection_is_no_proxy(stock_instrumentor, wrap, seen, connect):
    """It is sqlite3's own; what stock's offers for its proxies leaves it as it is."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    assert type(connect()) is not sqlite3.Connection
    wrap(telemetry="same")

    connection = connect()

    assert isinstance(connection, sqlite3.Connection)
    assert stock_instrumentor.uninstrument_connection(connection) is connection
    connection.cursor().execute("SELECT 1")
    assert seen.names() == ["SELECT"]


@pytest.mark.parametrize("name", ["_set_db_statement", "_set_db_system", "_set_db_name"])
def test_a_function_that_sets_attributes_is_replaced_later(stock_instrumentor, wrap, seen, connect, monkeypatch, name):
    """An application's function in the place of stock's is called for each text that has no plan yet."""
    dbapi = pytest.importorskip("opentelemetry.instrumentation.dbapi")
    original = getattr(dbapi, name)

    def replaced(result, value, mode):
        original(result, value, mode)
        result[f"app.{name}"] = f"seen: {value}"

    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    connection = connect()
    connection.cursor().execute("SELECT 1")
    monkeypatch.setattr(dbapi, name, replaced)
    connection.cursor().execute("SELECT 2")
    monkeypatch.undo()
    connection.cursor().execute("SELECT 3")

    first, second, third = (dict(span.attributes) for span in seen.spans())
    assert second.pop(f"app.{name}").startswith("seen: ")
    for number, attributes in enumerate((first, second, third), start=1):
        assert attributes == {**first, "db.statement": f"SELECT {number}"}


@pytest.mark.parametrize("name", ["_populate_span", "get_statement"])
def test_a_method_of_the_tracer_is_replaced_later(stock_instrumentor, wrap, seen, connect, monkeypatch, name):
    """The same with a method of stock's tracer of cursors."""
    tracer = pytest.importorskip("opentelemetry.instrumentation.dbapi").CursorTracer
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    connection = connect()
    connection.cursor().execute("SELECT 1")
    if name == "get_statement":
        monkeypatch.setattr(tracer, name, lambda *_: "hidden")
    else:
        monkeypatch.setattr(tracer, name, lambda _self, span, *_: span.set_attribute("db.statement", "hidden"))
    for _ in range(2):
        connection.cursor().execute("SELECT 2")

    assert [span.attributes["db.statement"] for span in seen.spans()] == ["SELECT 1", "hidden", "hidden"]
