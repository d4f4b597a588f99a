"""psycopg does what every wrapper of a database library does."""

from __future__ import annotations

import asyncio
import contextlib

import psycopg
import psycopg_pool
import pytest
from contracts.databases import Errors, Outcome, StockCommenter, Takeover, Transparency, wait
from opentelemetry import context, metrics
from opentelemetry.instrumentation._semconv import _OpenTelemetrySemanticConventionStability
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from psycopg import errors, sql

from otel_fastpath.db import conventions, cursors, database
from otel_fastpath.db import pools as db_pools
from otel_fastpath.db.psycopg import connecting, pipelines, pools, query_plans, result_parts, texts
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as db_parameters
from otel_fastpath.wrapping import call as calls


def _query(connection):
    cursor = connection.execute(sql.SQL("SELECT {}, %s").format(sql.Literal(1)), [2])
    return cursor.fetchone(), connection.execute(b"SELECT 3").fetchone()


def _batch(connection):
    cursor = connection.cursor()
    cursor.execute("CREATE TEMP TABLE IF NOT EXISTS batch (id int)")
    cursor.executemany("INSERT INTO batch VALUES (%s)", [(1,), (2,)])
    cursor.executemany("DELETE FROM batch WHERE id = %s RETURNING id", [(1,), (2,)], returning=True)
    return cursor.fetchall(), cursor.nextset(), cursor.fetchall()


def _parts(connection):
    cursor = connection.cursor()
    rows = list(cursor.stream("SELECT generate_series(1, 3)"))
    with cursor.copy("COPY (SELECT 4) TO STDOUT") as copy:
        rows += copy.rows()
    with connection.transaction(), connection.cursor("mine") as server:
        rows += server.execute("SELECT generate_series(5, 6)")
    return rows


def _transaction(connection):
    with contextlib.suppress(KeyError), connection.transaction(), connection.transaction():
        raise KeyError
    connection.autocommit = False
    connection.execute("SELECT 1")
    connection.rollback()
    connection.autocommit = True
    return connection.pgconn.transaction_status


def _pipeline(connection):
    found = []
    try:
        with connection.pipeline():
            found.append(connection.execute("SELECT 1").fetchone())
            connection.execute("SELECT * FROM nothing")
            connection.execute("SELECT 2")
    except errors.UndefinedTable as error:
        found.append(type(error).__name__)
    return found


def _errors(connection):
    found = []
    for call in (
        lambda: connection.execute("SELECT * FROM nothing"),
        lambda: connection.cursor().executemany("INSERT INTO nothing VALUES (%s)", [(1,)]),
        lambda: next(connection.cursor().stream("SELECT nothing")),
        lambda: connection.cursor().copy("COPY nothing TO STDOUT").__enter__(),
        lambda: connection.execute("SELECT %s", [object()]),
        lambda: connection.execute(7),
    ):
        try:
            call()
        except Exception as error:  # noqa: PERF203  # each of them
            found.append(type(error).__name__)
    return found


async def _asynchronous(database_url):
    """What the asynchronous twins give."""
    before = context.get_current()
    connection = await psycopg.AsyncConnection.connect(database_url, autocommit=True)
    async with connection:
        assert await (await connection.execute("SELECT %s::int", [1])).fetchone() == (1,)
        assert [row async for row in connection.cursor().stream("SELECT 2")] == [(2,)]
        async with connection.cursor().copy("COPY (SELECT 3) TO STDOUT") as copy:
            assert [row async for row in copy.rows()] == [("3",)]
        async with connection.transaction(), connection.cursor("mine") as cursor:
            await cursor.execute("SELECT 4")
            assert await cursor.fetchall() == [(4,)]
        async with connection.pipeline():
            assert await (await connection.execute("SELECT 5")).fetchone() == (5,)
        assert context.get_current() is before
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(connection.execute("SELECT pg_sleep(5)"), 0.02)
        assert context.get_current() is before


async def _ask(connection):
    assert await wait((await wait(connection.execute("SELECT 7"))).fetchone()) == (7,)


def _cursors_are_stock(connection):
    assert type(connection.cursor()).__name__ == "TracedCursorFactory"
    connection.execute("SELECT 1")


def _each_method(connection):
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    assert list(cursor.stream("SELECT 1")) == [(1,)]
    cursor.executemany("SELECT %s::int", [(1,)])
    with cursor.copy("COPY (SELECT 1) TO STDOUT") as copy:
        assert list(copy) == [b"1\n"]


def _texts(make, cursor=psycopg.Connection.cursor):
    """The text of the query of itself that the server got, by position and by keyword."""
    return (
        lambda c, text: cursor(c).execute(make(text)).fetchone()[0],
        lambda c, text: cursor(c).execute(query=make(text), params=()).fetchone()[0],
    )


NO_TYPE = "psycopg.ProgrammingError"


@pytest.mark.proves("psycopg.cursor.execute*", "psycopg.async_cursor.execute*")
class TestContract(Errors, Outcome, StockCommenter, Takeover, Transparency):
    """psycopg, on a real PostgreSQL."""

    query = staticmethod(_ask)
    entries = {
        "query": (_query, ((1, 2), (3,))),
        "batch": (_batch, ([(1,)], True, [(2,)])),
        "parts": (_parts, [(1,), (2,), (3,), ("4",), (5,), (6,)]),
        "transaction": (_transaction, 0),
        "pipeline": (_pipeline, [(1,), "UndefinedTable"]),
        "errors": (
            _errors,
            ["UndefinedTable"] * 2 + ["UndefinedColumn", "UndefinedTable", "ProgrammingError", "TypeError"],
        ),
    }
    asked = [lambda c: c.execute("SELECT 1"), lambda c: c.cursor().executemany("SELECT %s::int", [[1], [2]])]
    options = "acquire,check,parameters,rows,sqlcommenter,slow=1us,repeats=2"

    errors = {
        "unique": (lambda c: c.execute("INSERT INTO t VALUES (%s, 'secret')", (1,)), errors.UniqueViolation, "23505"),
        "syntax": (lambda c: c.execute("SELEC 'secret'"), errors.SyntaxError, "42601"),
        "no table": (lambda c: c.execute("SELECT 'secret' FROM nothing"), errors.UndefinedTable, "42P01"),
        "bad value": (lambda c: c.execute("SELECT 'secret'::int"), errors.InvalidTextRepresentation, "22P02"),
        "many": (
            lambda c: c.cursor().executemany("INSERT INTO t VALUES (%s)", [(1,)]),
            *(errors.UniqueViolation, "23505"),
        ),
        "timeout": (
            lambda c: c.execute("SET statement_timeout = 20; SELECT pg_sleep(5)"),
            *(errors.QueryCanceled, "57014"),
        ),
        "wrong type": (lambda c: c.execute(7), TypeError, "TypeError"),
        "no adapter": (lambda c: c.execute("SELECT %s", [object()]), psycopg.ProgrammingError, NO_TYPE),
        "placeholder": (lambda c: c.execute("SELECT '%x'", ["secret"]), psycopg.ProgrammingError, NO_TYPE),
    }
    read = ("query", "parts")

    own = {
        "connection plan": (database.Database, "connection_plan"),
        "new connection plan": (database.Database, "new_connection_plan"),
        "read": (conventions, "read"),
        "plan": (query_plans.Plans, "plan"),
        "tell": (db_parameters, "put_parameters"),
        "rows": (pipelines, "rows_of"),
        "series": (calls.CallDurations, "record_failed"),
        "comment": (comments, "comment"),
        "text": (texts, "render"),
        "query": (cursors.Driver, "query_of"),
        "server": (connecting, "server_of"),
        "meant": (connecting, "server_meant"),
        "submission": (pipelines, "_submission"),
        "note": (pipelines.Submission, "note"),
        "held": (pipelines.Submission, "_hold_open"),
        "declared": (result_parts, "_declared"),
        "watched": (pools, "watched"),
        "pool metrics": (db_pools, "metrics_of"),
        "start of a pool": (pools, "_leave_trace"),
        "acquire": (db_pools, "calls"),
        "begin": (calls, "begin"),
    }
    raising = [(psycopg.Cursor, "execute", lambda c: c.cursor().execute("SELECT 1"))]

    @pytest.fixture
    def program(self, database_url):
        """Each entry once, in a pool whose only connection it is, and the asynchronous twins."""

        async def main():
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(database_url, dbname="nothing", connect_timeout=5)
            before = context.get_current()
            check = psycopg_pool.ConnectionPool.check_connection
            settings = {"min_size": 1, "max_size": 1, "check": check, "kwargs": {"autocommit": True}}
            with psycopg_pool.ConnectionPool(database_url, open=True, **settings) as pool:
                with pool.connection() as connection:
                    await self.ask_everything(connection)
                    with pytest.raises(psycopg_pool.PoolTimeout):
                        pool.getconn(timeout=0.02)
                with pool.connection() as connection:
                    assert connection.execute("SELECT 8").fetchone() == (8,)
            await _asynchronous(database_url)
            assert context.get_current() is before

        return lambda: asyncio.run(main())

    names = {"CREATE", "INSERT", "select", "SELECT", "WITH", "--", "(SELECT"}
    stood_back = (_cursors_are_stock, ["SELECT"])
    differences = [
        (lambda c: c.cursor().execute(query="SELECT 1"), ["postgres"], ["SELECT"]),
        (
            lambda c: c.cursor().executemany(query="SELECT %s::int", params_seq=[(1,), (2,)]),
            *(["postgres"], ["SELECT"]),
        ),
        (lambda c: c.execute(b"SELECT 1"), ["postgres"], ["SELECT"]),
        (lambda c: psycopg.ClientCursor(c).execute("SELECT 1"), [], ["SELECT"]),
    ]
    violation = (
        lambda c: c.execute("INSERT INTO t VALUES (%s)", [1]),
        *(psycopg.errors.UniqueViolation, "(id)=(1)", "23505"),
    )

    @pytest.fixture
    def both_runs(self, run, run_async, table):  # noqa: ARG002  # a fixture cannot use `usefixtures`
        """Run the program with both kinds of connections."""

        def call():
            run(self.program_of_both, autocommit=False)
            run_async(self.async_program_of_both, autocommit=False)

        return call

    @staticmethod
    def program_of_both(connection):
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

    @staticmethod
    async def async_program_of_both(connection):
        """The same on an asynchronous connection."""
        await connection.execute("SELECT * FROM t WHERE id = %s", [1])
        cursor = connection.cursor()
        await cursor.execute("SELECT 1")
        await cursor.executemany("UPDATE t SET v = %s", [("a",), ("b",)])
        await connection.commit()

    def check_added(self, spans):
        """Those around it, and the COPYs."""
        names = [span.name for span in spans]
        assert names[0] == "CONNECT"
        assert {"COMMIT", "BEGIN", "COPY"} <= set(names)
        assert names.count("SELECT") == 11

    def check_difference(self, spans):
        """With their texts."""
        assert {span.attributes["db.statement"][:6] for span in spans} == {"SELECT"}

    def test_the_metrics_are_equal(self, stock_instrumentor, wrap, both_runs, monkeypatch):
        """Those of its opt-in, which it gives no provider: they go to the global one."""
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

    parameter_in_text = "$1"
    commented = staticmethod(lambda c, text: c.execute(text, ["x"]).fetchone()[0])

    owners = (
        *(psycopg, psycopg.Connection, psycopg.AsyncConnection, psycopg.Cursor, psycopg.AsyncCursor),
        *(psycopg.ServerCursor, psycopg.AsyncServerCursor, psycopg.Transaction, psycopg.AsyncTransaction),
        *(psycopg.Pipeline, psycopg.AsyncPipeline, psycopg.ClientCursor, psycopg.RawCursor),
        *(psycopg_pool.ConnectionPool, psycopg_pool.AsyncConnectionPool),
    )
    replaced = range(41, 200)
    on_top = tuple((psycopg.Cursor, name) for name in ("execute", "stream", "copy", "executemany"))
    topped = staticmethod(_each_method)
    comments = [
        *(ask for make in (str, str.encode, sql.SQL) for ask in _texts(make)),
        *_texts(str, psycopg.RawCursor),
    ]
