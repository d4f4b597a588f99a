"""Every operation is seen, once: its span, its attributes, its metrics."""

from __future__ import annotations

import io
from collections import namedtuple

import asyncpg
import pytest
from contracts.databases import Operations
from opentelemetry import trace

HAS_FETCHMANY = hasattr(asyncpg.Connection, "fetchmany")


def test_a_query_is_a_child_of_the_current_span(look):
    """And the current span itself while asyncpg runs."""
    current = []

    async def main(connection):
        with seen_tracer.get_tracer("test").start_as_current_span("request"):
            await connection.set_type_codec(
                "int4",
                schema="pg_catalog",
                encoder=lambda value: current.append(trace.get_current_span()) or str(value),
                decoder=int,
            )
            await connection.fetchval("SELECT $1::int4", 7)
            assert trace.get_current_span().name == "request"

    from opentelemetry.sdk.trace import TracerProvider

    seen_tracer = TracerProvider()
    query = look(main).one()

    assert query.parent is not None
    assert [span.get_span_context() for span in current] == [query.context]


METHODS = {
    "execute": (lambda c: c.execute("SELECT * FROM t"), "SELECT t"),
    "execute with arguments": (lambda c: c.execute("DELETE FROM t WHERE id = $1", 1), "DELETE t"),
    "execute by keyword": (lambda c: c.execute(query="UPDATE t SET v = 'x'"), "UPDATE t"),
    "executemany": (lambda c: c.executemany("INSERT INTO t VALUES ($1)", [(11,), (12,)]), "BATCH INSERT t"),
    "executemany by keyword": (
        lambda c: c.executemany(command="INSERT INTO t VALUES ($1)", args=[(11,), (12,)]),
        "BATCH INSERT t",
    ),
    "executemany of one": (lambda c: c.executemany("INSERT INTO t VALUES ($1)", [(11,)]), "INSERT t"),
    "executemany of a generator": (
        lambda c: c.executemany("INSERT INTO t VALUES ($1)", ((i,) for i in (11, 12))),
        "BATCH INSERT t",
    ),
    "fetch": (lambda c: c.fetch("SELECT * FROM t"), "SELECT t"),
    "fetch by keyword": (lambda c: c.fetch(query="SELECT * FROM t", timeout=5), "SELECT t"),
    "fetchval": (lambda c: c.fetchval("SELECT v FROM t", column=0), "SELECT t"),
    "fetchrow": (lambda c: c.fetchrow("SELECT v FROM t"), "SELECT t"),
    "prepare": (lambda c: c.prepare("SELECT * FROM t"), "PREPARE SELECT t"),
    "prepare by keyword": (lambda c: c.prepare(query="SELECT * FROM t"), "PREPARE SELECT t"),
    "listen": (lambda c: c.add_listener("orders", lambda *_: None), 'LISTEN "orders"'),
    "copy from table": (lambda c: c.copy_from_table("t", output=io.BytesIO()), "COPY t"),
    "copy from query": (lambda c: c.copy_from_query("SELECT * FROM t", output=io.BytesIO()), "COPY SELECT t"),
    "copy from query with arguments": (
        lambda c: c.copy_from_query("SELECT * FROM t WHERE id < $1", 4, output=io.BytesIO()),
        "COPY SELECT t",
    ),
    "copy to table": (lambda c: c.copy_to_table("t", source=io.BytesIO(b"11\tx\n")), "COPY t"),
    "copy records": (lambda c: c.copy_records_to_table("t", records=[(11, "x")]), "COPY t"),
}
if HAS_FETCHMANY:
    METHODS["fetchmany"] = (lambda c: c.fetchmany("SELECT * FROM t WHERE id = $1", [(1,), (2,)]), "BATCH SELECT t")


@pytest.mark.proves(
    "asyncpg.execute",
    "asyncpg.fetch",
    "asyncpg.fetchval",
    "asyncpg.fetchrow",
    "asyncpg.executemany",
    "asyncpg.fetchmany",
    "asyncpg.prepare",
    "asyncpg.copy_from_table",
    "asyncpg.copy_from_query",
    "asyncpg.copy_to_table",
    "asyncpg.copy_records_to_table",
)
class TestOperations(Operations):
    """Of asyncpg."""

    methods = METHODS
    marks = ("$1", "$2::int")
    process = staticmethod(asyncpg.Connection.get_server_pid)
    killed = ((asyncpg.AdminShutdownError, asyncpg.ConnectionDoesNotExistError), {"57P01", "08003"})

    def ask(self, connection, text, *values):
        """With `fetch`."""
        return connection.fetch(text, *values)


DURATION = "db.client.operation.duration"
ROWS = "db.client.response.returned_rows"

STATEMENTS = {
    "fetch": (lambda s: s.fetch(3), 2),
    "fetchval": (lambda s: s.fetchval(3), 1),
    "fetchrow": (lambda s: s.fetchrow(3), 1),
    "fetchrow without a row": (lambda s: s.fetchrow(0), 0),
    "executemany": (lambda s: s.executemany([(1,), (2,)]), None),
}
if HAS_FETCHMANY:
    STATEMENTS["fetchmany"] = (lambda s: s.fetchmany([(2,), (3,)]), 3)


@pytest.mark.proves(
    "asyncpg.statement.fetch",
    "asyncpg.statement.fetchval",
    "asyncpg.statement.fetchrow",
    "asyncpg.statement.executemany",
    "asyncpg.statement.fetchmany",
)
@pytest.mark.parametrize("method", STATEMENTS)
def test_each_method_of_a_statement_is_one_span(look, method):
    """Besides that of preparing it; with the number of rows where they are returned."""
    call, rows = STATEMENTS[method]

    async def main(connection):
        await call(await connection.prepare("SELECT * FROM t WHERE id < $1"))

    seen = look(main, options="rows")

    prepare, query = seen.spans()
    batch = "BATCH " if "many" in method else ""
    assert (prepare.name, query.name) == ("PREPARE SELECT t", f"{batch}SELECT t")
    assert query.attributes.get("db.operation.batch.size") == (2 if batch else None)
    assert query.attributes.get("db.response.returned_rows") == rows
    (point,) = seen.metrics().get(ROWS, [None])
    assert (point and point.sum) == rows


@pytest.mark.proves("asyncpg.statement.explain")
@pytest.mark.parametrize("analyze", [True, False])
def test_explain_is_one_span(look, analyze):
    """Also where asyncpg begins and rolls back a transaction for it."""

    async def main(connection):
        statement = await connection.prepare("SELECT * FROM t WHERE id < $1")
        await statement.explain(1, analyze=analyze)

    _, span = look(main).spans()

    assert span.name == "EXPLAIN SELECT t"
    assert span.attributes["db.query.text"].startswith("EXPLAIN (FORMAT JSON, VERBOSE")


@pytest.mark.proves("asyncpg.cursor.begin", "asyncpg.cursor.fetch")
@pytest.mark.parametrize(("prefetch", "trips"), [(None, 1), (3, 4), (10, 2), (1, 11)])
def test_an_iterating_cursor_has_one_span_per_round_trip(look, prefetch, trips):
    """However many rows there are in each; preparing the statement is part of the first."""
    rows = []

    async def main(connection):
        async with connection.transaction():
            rows.extend([row["id"] async for row in connection.cursor("SELECT id FROM t", prefetch=prefetch)])

    begin, *spans, commit = look(main).spans()

    assert rows == list(range(1, 11))
    assert (begin.name, commit.name) == ("BEGIN", "COMMIT")
    assert [span.name for span in spans] == ["SELECT t"] * trips


def test_rows_from_a_cursors_buffer_pass_nothing_of_ours(look):
    """`__anext__` is asyncpg's own function, so that a row that was fetched before costs what it costs without us."""

    async def main(_connection):
        assert asyncpg.cursor.CursorIterator.__anext__.__wrapped__.__module__ == "asyncpg.cursor"
        assert asyncpg.cursor.CursorIterator.__anext__.__globals__["__name__"] == "asyncpg.connresource"

    look(main)


@pytest.mark.proves("asyncpg.cursor.open", "asyncpg.cursor.forward")
def test_a_cursors_methods_are_one_span_each(look):
    """Opening it is one, too."""

    async def main(connection):
        async with connection.transaction():
            cursor = await connection.cursor("SELECT id FROM t WHERE id < $1", 9)
            await cursor.fetch(3)
            await cursor.fetchrow()
            await cursor.forward(2)
            statement = await connection.prepare("SELECT id FROM t")
            cursor = await statement.cursor()
            await cursor.fetch(20)

    names = look(main).names()

    assert names == ["BEGIN", *["SELECT t"] * 4, "PREPARE SELECT t", "SELECT t", "SELECT t", "COMMIT"]


@pytest.mark.proves("asyncpg.cursor.prepare")
def test_a_cursor_whose_statement_is_wrong_is_a_failed_span(look):
    """It has no round trip that could be one."""

    async def main(connection):
        async with connection.transaction():
            rows = connection.cursor("SELECT FROM WHERE").__aiter__()
            with pytest.raises(asyncpg.PostgresSyntaxError):
                await rows.__anext__()

    _, span, _ = look(main).spans()

    assert span.attributes["error.type"] == "42601"


def test_copies_say_how_many_rows(look):
    """As the server counted them; what was returned is a metric."""

    async def main(connection):
        await connection.copy_from_table("t", output=io.BytesIO(), columns=["id"])
        await connection.copy_records_to_table("t", records=[(11, "x"), (12, "y")])

    seen = look(main)

    assert [span.attributes["asyncpg.copy.rows"] for span in seen.spans()] == [10, 2]
    assert [point.sum for point in seen.metrics()[ROWS]] == [10]


def test_a_copys_table_is_quoted_where_it_must(look):
    """The name of the span is what the statement says."""

    async def main(connection):
        await connection.execute('CREATE TEMP TABLE "Odd ""t" (id int)')
        await connection.copy_from_table('Odd "t', schema_name="pg_temp", output=io.BytesIO())

    _, span = look(main).spans()

    assert span.name == 'COPY pg_temp."Odd ""t"'
    assert span.attributes["db.collection.name"] == 'pg_temp."Odd ""t"'


def test_transactions_and_savepoints_are_spans(look):
    """Without the names of asyncpg's savepoints, each of which is another."""

    async def main(connection):
        async with connection.transaction(isolation="serializable"):
            async with connection.transaction():
                pass
            with pytest.raises(ZeroDivisionError):
                async with connection.transaction():
                    raise ZeroDivisionError

    names = look(main).names()

    assert names == ["BEGIN", "SAVEPOINT", "RELEASE SAVEPOINT", "SAVEPOINT", "ROLLBACK TO", "COMMIT"]


def test_transactions_can_be_left_off(look):
    """By name."""

    async def main(connection):
        async with connection.transaction(), connection.transaction():
            await connection.fetch("SELECT 1")

    assert look(main, options="no-transactions").names() == ["SELECT"]


@pytest.mark.parametrize("row", ["tuple", "named tuple"])
def test_what_a_batch_is_made_of_is_not_asked_for_its_length(look, row):
    """Only Python's own containers are: another one may load all its rows, or raise."""
    asked = []

    class Lazy:
        def __init__(self, *values):
            self.values = values

        def __iter__(self):
            return iter(self.values)

        def __len__(self):
            asked.append(1)
            return len(self.values)

    Row = namedtuple("Row", "id")  # noqa: PYI024  # as applications have them
    made = Row if row == "named tuple" else lambda value: (value,)

    async def main(connection):
        await connection.executemany("INSERT INTO t VALUES ($1)", Lazy(made(11), made(12)))
        await connection.executemany("INSERT INTO t VALUES ($1)", [made(13), made(14)])

    unknown, known = look(main).spans()
    assert (unknown.name, known.name) == ("BATCH INSERT t", "BATCH INSERT t")
    assert "db.operation.batch.size" not in unknown.attributes
    assert known.attributes["db.operation.batch.size"] == 2
    assert asked == []


def test_a_procedure_has_its_name(look):
    """As an attribute, in the metric too."""

    async def main(connection):
        await connection.execute("CREATE PROCEDURE pg_temp.p() LANGUAGE sql AS 'SELECT 1'")
        await connection.execute("CALL pg_temp.p()")

    seen = look(main)

    assert seen.spans()[-1].attributes["db.stored_procedure.name"] == "pg_temp.p"
    points = [dict(point.attributes) for point in seen.metrics()[DURATION]]
    assert "pg_temp.p" in [point.get("db.stored_procedure.name") for point in points]
