"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import psycopg
import pytest
from opentelemetry.instrumentation._semconv import _OpenTelemetrySemanticConventionStability
from psycopg import sql


def program(connection):
    """What both see alike, without autocommit: the commit has no span."""
    connection.execute("CREATE TEMP TABLE p (id int PRIMARY KEY, v text)")
    connection.execute("INSERT INTO p VALUES (%s, %s)", (1, "one"))
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM p WHERE v <> 'x'")
    cursor.execute("/* a comment */ select id from p")
    cursor.execute(sql.SQL("SELECT {} FROM {}").format(sql.Literal("x"), sql.Identifier("p")))
    cursor.execute(sql.SQL("WITH a AS (SELECT 1) SELECT * FROM a"))
    cursor.execute("-- a comment\nSELECT 1")
    cursor.execute("(SELECT 1)")
    cursor.execute("SELECT 1; SELECT 2")
    cursor.executemany("INSERT INTO p VALUES (%s, %s)", [(2, "two"), (3, "three")])
    cursor.execute("")
    connection.commit()
    with connection.transaction():
        connection.execute("SELECT 2")
    with connection.cursor("mine") as server:
        server.execute("SELECT * FROM p").fetchall()
    assert len(list(cursor.stream("SELECT * FROM p"))) == 3
    with cursor.copy("COPY p TO STDOUT") as copy:
        assert list(copy)


async def async_program(connection):
    """The same on an asynchronous connection."""
    await connection.execute("SELECT * FROM t WHERE id = %s", [1])
    cursor = connection.cursor()
    await cursor.execute("SELECT 1")
    await cursor.executemany("UPDATE t SET v = %s", [("a",), ("b",)])
    await connection.commit()


def metrics_of(seen):
    """What is compared of the metrics."""
    return {
        name: sorted((sorted(point.attributes.items()), point.count, point.explicit_bounds) for point in points)
        for name, points in seen.metrics().items()
    }


@pytest.fixture
def both_runs(run, run_async, table):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Run the program with both kinds of connections."""

    def call():
        run(program, autocommit=False)
        run_async(async_program, autocommit=False)

    return call


@pytest.mark.proves("psycopg.cursor.execute*", "psycopg.async_cursor.execute*")
@pytest.mark.usefixtures("opt_in")
@pytest.mark.parametrize("ours_first", [True, False])
def test_the_spans_are_equal(stock_instrumentor, wrap, seen, both_runs, ours_first, seen_of):
    """With `telemetry="same"`: in each mode of its conventions, in either order, also its metrics."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    both_runs()
    stock_instrumentor.uninstrument()
    stock = [seen_of(span) for span in seen.spans()]

    if ours_first:
        wrap(telemetry="same")
        both_runs()
        assert seen.spans() == ()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    if not ours_first:
        wrap(telemetry="same")
    both_runs()

    ours = [seen_of(span) for span in seen.spans()]
    assert ours == stock
    assert {"CREATE", "INSERT", "select", "SELECT", "WITH", "--", "(SELECT"} <= {span[0] for span in stock}


def test_the_metrics_are_equal(stock_instrumentor, wrap, both_runs, monkeypatch):
    """Those of its opt-in, which it gives no provider: they go to the global one."""
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "database")
    stability = _OpenTelemetrySemanticConventionStability
    found = []
    for is_ours in (False, True):
        monkeypatch.setattr(stability, "_initialized", False)
        monkeypatch.setattr(stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
        reader = InMemoryMetricReader()
        monkeypatch.setattr(metrics._internal, "_METER_PROVIDER", MeterProvider([reader]))
        if is_ours:
            wrap(telemetry="same")
        stock_instrumentor.instrument()
        both_runs()
        stock_instrumentor.uninstrument()
        found.append(
            {
                metric.name: sorted(
                    (
                        sorted(point.attributes.items()),
                        point.count,
                        getattr(point, "sum", 0) if "rows" in metric.name else 0,
                    )
                    for point in metric.data.data_points
                )
                for resource in reader.get_metrics_data().resource_metrics
                for scope in resource.scope_metrics
                if scope.scope.name == "opentelemetry.instrumentation.psycopg"
                for metric in scope.metrics
            }
        )
    stability._initialized = False

    assert found[1] == found[0]
    assert set(found[0]) == {"db.client.operation.duration", "db.client.response.returned_rows"}


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
    assert {span.instrumentation_scope.name for span in spans} == {"opentelemetry.instrumentation.psycopg"}
    assert names[0] == "CONNECT"
    assert {"COMMIT", "BEGIN", "COPY"} <= set(names)
    assert names.count("SELECT") == 9
    stock_instrumentor.uninstrument()
    run(lambda connection: connection.execute("SELECT 1"))
    assert {span.instrumentation_scope.name for span in seen.spans()} == {"otel_fastpath.psycopg"}


@pytest.mark.proves("psycopg.official.*")
def test_cursors_that_it_made_have_one_span(stock_instrumentor, wrap, seen, run, run_async, instrumentor):
    """Connections that were made while stock's instrumented; afterwards, nothing is seen on them."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    def main(connection):
        wrap()
        seen.spans()
        connection.execute("SELECT 1")
        assert len(seen.spans()) == 1
        stock_instrumentor.uninstrument()
        instrumentor.uninstrument()

    run(main)

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    async def async_main(connection):
        wrap()
        seen.spans()
        await connection.execute("SELECT 1")
        assert len(seen.spans()) == 1

    run_async(async_main)


def test_a_subclass_connects_as_itself(stock_instrumentor, wrap, seen, run):
    """Uninstrumented, stock's leaves a `connect` that makes connections of the base class; ours does not."""

    class Connection(psycopg.Connection):
        pass

    def main(connection):
        with Connection.connect(connection.info.dsn) as made:
            return type(made)

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    stock_instrumentor.uninstrument()
    assert run(main) is psycopg.Connection

    wrap()

    assert run(main) is Connection


def test_a_connection_of_its_own_function_has_one_span(stock_instrumentor, wrap, seen, run):
    """`instrument_connection`, which works without `instrument`."""

    def main(connection):
        wrap()
        stock_instrumentor.instrument_connection(connection, tracer_provider=seen.tracer_provider)
        seen.spans()
        connection.execute("SELECT 1")
        return seen.names()

    assert run(main) == ["SELECT"]


@pytest.mark.parametrize("mode", ["defer", "off"])
def test_told_to_stand_back_ours_does(stock_instrumentor, wrap, seen, run, mode):
    """Stock's does its own work."""
    wrap(psycopg=mode)
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    def main(connection):
        assert type(connection.cursor()).__name__ == "TracedCursorFactory"
        connection.execute("SELECT 1")

    run(main)

    assert seen.names() == ["SELECT"]


COMMENT_ONLY = ["/* nothing */", "   ", "-- nothing"]


@pytest.mark.parametrize("text", COMMENT_ONLY[:2])
def test_a_comment_is_an_error_with_theirs_and_not_with_ours(stock_instrumentor, wrap, seen, run, text):
    """IndexError in the application, before the query is sent."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with pytest.raises(IndexError):
        run(lambda connection: connection.execute(text))
    wrap(telemetry="same")

    run(lambda connection: connection.execute(text))

    (span,) = seen.spans()
    assert span.name == span.attributes["db.name"]


DIFFERENCES = {
    "keyword": (lambda c: c.cursor().execute(query="SELECT 1"), "SELECT"),
    "batch by keyword": (
        lambda c: c.cursor().executemany(query="SELECT %s::int", params_seq=[(1,), (2,)]),
        "SELECT",
    ),
    "bytes": (lambda c: c.execute(b"SELECT 1"), "SELECT"),
    "explicit cursor": (lambda c: psycopg.ClientCursor(c).execute("SELECT 1"), "SELECT"),
}


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_what_is_meant_to_differ_differs(stock_instrumentor, wrap, seen, run, kind):
    """They name these after the database, or have no span; ours are queries like any other."""
    call, name = DIFFERENCES[kind]
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(call)
    assert name not in seen.names()
    wrap(telemetry="same")

    run(call)

    (span,) = seen.spans()
    assert (span.name, span.attributes["db.statement"][:6]) == (name, "SELECT")


def test_an_error_has_no_row_in_its_status(stock_instrumentor, wrap, seen, run, table):  # noqa: ARG001  # it needs the table
    """With stock's, the description carries the row; the exception's event has it with both."""

    def main(connection):
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO t VALUES (%s)", [1])

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    run(main)
    assert "(id)=(1)" in seen.one().status.description
    wrap(telemetry="same")
    run(main)

    span = seen.one()
    assert span.status.description == "UniqueViolation"
    assert span.attributes["error.type"] == "23505"


@pytest.mark.parametrize("ours_first", [True, False])
def test_its_arguments_are_ours(stock_instrumentor, wrap, seen, run, ours_first):
    """Parameters, comments, and comments in the attribute; also if ours is told of them later."""
    given = {"capture_parameters": True, "enable_commenter": True, "enable_attribute_commenter": True}
    given["commenter_options"] = {"db_driver": False}
    text = "SELECT query, %s FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    found = []

    def main(connection):
        found.append(connection.execute(text, ["x"]).fetchone()[0])

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
    assert parts[0].replace("$1", "%s") == parts[1].replace("$1", "%s") == parts[2]
    assert "traceparent" in found[1]
    assert "db_driver" not in found[1]
    assert ours.attributes["db.statement"].replace("%s", "$1") == found[1]
