"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import psycopg2
import psycopg2.extras
import pytest
from psycopg2 import sql


def program(connection):
    """What both see alike; the commit has no span."""
    cursor = connection.cursor()
    cursor.execute("CREATE TEMP TABLE p (id int PRIMARY KEY, v text)")
    cursor.execute("INSERT INTO p VALUES (%s, %s)", (1, "one"))
    cursor.execute("SELECT * FROM p WHERE v <> 'x'")
    cursor.execute("/* a comment */ select id from p")
    cursor.execute(sql.SQL("SELECT {} FROM {}").format(sql.Literal("x"), sql.Identifier("p")))
    cursor.execute("-- a comment\nSELECT 1")
    cursor.execute("(SELECT 1)")
    cursor.execute("SELECT 1; SELECT 2")
    cursor.executemany("INSERT INTO p VALUES (%s, %s)", [(2, "two"), (3, "three")])
    cursor.callproc("pg_backend_pid")
    connection.commit()
    with connection.cursor("mine") as server:
        server.execute("SELECT * FROM p")
        assert len(server.fetchall()) == 3


@pytest.mark.proves("psycopg2.connect")
@pytest.mark.usefixtures("opt_in")
@pytest.mark.parametrize("ours_first", [True, False])
def test_the_spans_are_equal(stock_instrumentor, wrap, seen, run, ours_first, seen_of):
    """With `telemetry="same"`: in each mode of its conventions, in either order."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(program, autocommit=False)
    stock_instrumentor.uninstrument()
    stock = [seen_of(span) for span in seen.spans()]

    if ours_first:
        wrap(telemetry="same")
        run(program, autocommit=False)
        assert seen.spans() == ()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    if not ours_first:
        wrap(telemetry="same")
    run(program, autocommit=False)

    ours = [seen_of(span) for span in seen.spans()]
    assert ours == stock
    assert {"CREATE", "INSERT", "select", "SELECT", "--", "(SELECT", "pg_backend_pid"} <= {span[0] for span in stock}


@pytest.mark.usefixtures("in_its_place")
@pytest.mark.parametrize("ours_first", [True, False])
def test_ours_adds_what_it_does_not_see(stock_instrumentor, wrap, seen, run, ours_first):
    """With `telemetry="full"`, under its scope; uninstrumented, ours goes on under our own, if it was asked for."""
    if ours_first:
        wrap()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    if not ours_first:
        wrap()

    run(program, autocommit=False)

    spans = seen.spans()
    names = [span.name for span in spans]
    assert {span.instrumentation_scope.name for span in spans} == {"opentelemetry.instrumentation.psycopg2"}
    assert names[0] == "CONNECT"
    assert names[-3:] == ["COMMIT", "SELECT", "SELECT"]
    stock_instrumentor.uninstrument()
    run(lambda connection: connection.cursor().execute("SELECT 1"))
    assert {span.instrumentation_scope.name for span in seen.spans()} == {"otel_fastpath.psycopg2"}


@pytest.mark.proves("psycopg2.official.execution")
def test_a_connection_of_its_own_function_has_one_span(stock_instrumentor, wrap, seen, run):
    """`instrument_connection`, which works without `instrument`, on a connection of ours; and on one from before."""

    def cursors_are_stock(connection):
        stock_instrumentor.instrument_connection(connection, tracer_provider=seen.tracer_provider)
        seen.spans()
        connection.cursor().execute("SELECT 1")
        return seen.names()

    def main(connection):
        wrap()
        assert cursors_are_stock(connection) == ["SELECT"]

    run(main)
    assert run(cursors_are_stock) == ["SELECT"]


@pytest.mark.parametrize("ours_first", [True, False])
def test_its_connections_have_one_span(stock_instrumentor, wrap, seen, run, ours_first):
    """Those that it had made before ours replaced it, and those that it made after ours was removed."""

    def main(connection):
        wrap()
        seen.spans()
        connection.cursor().execute("SELECT 1")
        return seen.names()

    if ours_first:
        wrap()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    assert run(main) == ["SELECT"]


@pytest.mark.parametrize("mode", ["defer", "off"])
def test_told_to_stand_back_ours_does(stock_instrumentor, wrap, seen, run, mode):
    """Stock's does its own work."""
    wrap(psycopg2=mode)
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    def main(connection):
        assert type(connection) is psycopg2.extensions.connection
        assert type(connection.cursor()).__name__ == "TracedCursorFactory"
        connection.cursor().execute("SELECT 1")

    run(main)

    assert seen.names() == ["SELECT"]


DIFFERENCES = {
    "keyword": (lambda c: c.cursor().execute(query="SELECT 1"), ["SELECT"]),
    "bytes": (lambda c: c.cursor().execute(b"SELECT 1"), ["SELECT"]),
    "sql": (lambda c: c.cursor().execute(sql.SQL("SELECT 1")), ["SELECT"]),
    "explicit factory": (
        lambda c: c.cursor(cursor_factory=psycopg2.extras.RealDictCursor).execute("SELECT 1"),
        ["SELECT"],
    ),
    "pages": (
        lambda c: psycopg2.extras.execute_values(c.cursor(), "SELECT %s", [(1,), (2,), (3,)], page_size=2),
        ["SELECT", "SELECT"],
    ),
}


@pytest.mark.usefixtures("in_its_place")
@pytest.mark.filterwarnings("ignore:Invalid type")
@pytest.mark.parametrize("kind", DIFFERENCES)
def test_what_is_meant_to_differ_differs(stock_instrumentor, wrap, seen, run, kind):
    """They name these after the database, or have no span; ours are queries like any other."""
    call, names = DIFFERENCES[kind]
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(call)
    assert seen.names() != names
    wrap(telemetry="same")

    run(call)

    spans = seen.spans()
    assert [span.name for span in spans] == names
    assert {span.attributes["db.statement"][:6] for span in spans} == {"SELECT"}


@pytest.mark.usefixtures("in_its_place")
def test_an_error_has_no_row_in_its_status(stock_instrumentor, wrap, seen, run, table):  # noqa: ARG001  # it needs the table
    """With stock's, the description carries the row; the exception's event has it with both."""

    def main(connection):
        with pytest.raises(psycopg2.errors.UniqueViolation):
            connection.cursor().execute("INSERT INTO t VALUES (%s)", [1])

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(main)
    assert "(id)=(1)" in seen.one().status.description
    wrap(telemetry="same")
    run(main)

    span = seen.one()
    assert span.status.description == "UniqueViolation"
    assert span.attributes["error.type"] == "23505"


@pytest.mark.usefixtures("in_its_place")
@pytest.mark.parametrize("ours_first", [True, False])
def test_its_arguments_are_ours(stock_instrumentor, wrap, seen, run, ours_first):
    """Parameters, comments, and comments in the attribute; also if ours is told of them later."""
    given = {"capture_parameters": True, "enable_commenter": True, "enable_attribute_commenter": True}
    given["commenter_options"] = {"db_driver": False}
    text = "SELECT query, %s FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    found = []

    def main(connection):
        cursor = connection.cursor()
        cursor.execute(text, ["x"])
        found.append(cursor.fetchone()[0])

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, **given)
    run(main)
    theirs = seen.one()
    if ours_first:
        stock_instrumentor.uninstrument()
        wrap()
        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, **given)
    else:
        wrap()
    run(main)

    ours = next(span for span in seen.spans() if span.name == "SELECT")
    assert ours.attributes["db.statement.parameters"] == theirs.attributes["db.statement.parameters"] == "['x']"
    parts = [each.partition("traceparent=")[0] for each in (*found, theirs.attributes["db.statement"])]
    assert parts[0].replace("'x'", "%s") == parts[1].replace("'x'", "%s") == parts[2]
    assert "traceparent" in found[1]
    assert "db_driver" not in found[1]
    assert ours.attributes["db.statement"].replace("%s", "'x'") == found[1]
