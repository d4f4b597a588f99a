"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import pytest


@pytest.mark.usefixtures("in_its_place", "table")
@pytest.mark.parametrize("ours_first", [True, False])
def test_its_arguments_are_ours(stock_instrumentor, wrap, seen, connect, ours_first, library):
    """Comments; what it does not see is added under its scope with `full` telemetry."""
    given = {"enable_commenter": True, "commenter_options": {"db_driver": False}}
    if ours_first:
        wrap()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, **given)
    if not ours_first:
        wrap()

    connection = connect()
    cursor = connection.cursor()
    cursor.execute("SELECT info FROM information_schema.processlist WHERE id = connection_id()")
    text = cursor.fetchone()[0]
    connection.rollback()

    assert "traceparent" in text
    assert "mysql_client_version" in text
    assert "db_driver" not in text
    spans = seen.spans()
    assert [span.name for span in spans] == ["CONNECT", "SELECT", "ROLLBACK"]
    assert {span.instrumentation_scope.name for span in spans} == {f"opentelemetry.instrumentation.{library}"}


@pytest.mark.usefixtures("in_its_place")
@pytest.mark.parametrize("text", ["/* a comment */", "  "])
def test_a_comment_is_an_error_with_theirs_and_not_with_ours(stock_instrumentor, wrap, seen, connect, driver, text):
    """IndexError in the application, before the query is sent."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with pytest.raises(IndexError):
        connect().cursor().execute(text)
    wrap(telemetry="same")

    if text.strip():
        connect().cursor().execute(text)
    else:
        with pytest.raises(driver.Error, match="1065"):
            connect().cursor().execute(text)


@pytest.mark.proves("dbapi.execution")
@pytest.mark.parametrize("by", ["instrument", "instrument_connection"])
def test_a_connection_that_it_made_has_one_span(stock_instrumentor, wrap, seen, connect, instrumentor, by):
    """Its proxy calls the method that ours patches; with ours removed, the proxy's own span is back."""
    if by == "instrument":
        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
        connection = connect()
    else:
        connection = stock_instrumentor.instrument_connection(connect(), tracer_provider=seen.tracer_provider)
    wrap()
    seen.spans()

    connection.cursor().execute("SELECT 1")
    connection.cursor().executemany("SELECT %s", [(1,), (2,)])

    assert len(seen.spans()) == 2
    instrumentor.uninstrument()
    connection.cursor().execute("SELECT 1")
    assert len(seen.spans()) == 1
