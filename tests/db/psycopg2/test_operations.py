"""Every operation is seen, once: its span, its attributes, its metrics."""

from __future__ import annotations

import io

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import pytest
from combinations import crossed
from contracts.databases import Operations
from opentelemetry import trace
from psycopg2 import sql


class Mine(psycopg2.extensions.cursor):
    """A cursor of an application."""

    def execute(self, query, vars=None):  # noqa: A002  # as psycopg2 has it
        """As psycopg2's."""
        return super().execute(query, vars)


def function(*args):
    """A factory that is no class."""
    return Mine(*args)


class WithSlots(psycopg2.extensions.cursor):
    """Another, whose objects have no `__dict__`."""

    __slots__ = ("note",)


FACTORIES = {
    "none": None,
    "the driver's": psycopg2.extensions.cursor,
    "dict": psycopg2.extras.DictCursor,
    "real dict": psycopg2.extras.RealDictCursor,
    "named tuple": psycopg2.extras.NamedTupleCursor,
    "application's": Mine,
    "with slots": WithSlots,
    "function": function,
}


def test_a_query_is_a_child_of_the_current_span(look, seen):
    """And the current span itself while psycopg2 runs; then it is as before."""
    current = []

    class Adapted:
        def __conform__(self, _protocol):
            current.append(trace.get_current_span().get_span_context())
            return psycopg2.extensions.AsIs("7")

    def main(connection):
        with seen.tracer_provider.get_tracer("test").start_as_current_span("request"):
            connection.cursor().execute("SELECT %s", (Adapted(),))
            assert trace.get_current_span().name == "request"

    query, request = look(main).spans()

    assert query.parent.span_id == request.context.span_id
    assert current
    assert [each for each in current if each != query.context] == []


@pytest.mark.proves("psycopg2.connect")
@pytest.mark.parametrize(
    ("kind", "by"), crossed(list(FACTORIES), ["cursor", "cursor, by position", "connect", "attribute"])
)
def test_a_cursor_of_any_factory_is_seen(wrap, run, table, kind, by):  # noqa: ARG001  # it needs the table
    """With the stock instrumentation, a factory that is asked for has no span."""
    factory, seen = FACTORIES[kind], wrap()

    def main(connection):
        if by == "attribute":
            connection.cursor_factory = factory
        asked = {"cursor": {"cursor_factory": factory}}.get(by, {})
        seen.spans()
        cursor = connection.cursor(None, factory) if by == "cursor, by position" else connection.cursor(**asked)
        cursor.execute("SELECT id FROM t WHERE id = %s", [1])
        assert next(iter(cursor.fetchone() or ())) in (1, "id")
        if isinstance(factory, type):
            assert isinstance(cursor, factory)
            assert hasattr(cursor, "__dict__") == bool(factory.__dictoffset__)

    run(main, **({"cursor_factory": factory} if by == "connect" else {}))

    assert seen.names() == ["SELECT t"]


METHODS = {
    "execute": (lambda c: c.execute("SELECT * FROM t"), "SELECT t"),
    "execute with parameters": (lambda c: c.execute("DELETE FROM t WHERE id = %s", [1]), "DELETE t"),
    "execute by keyword": (lambda c: c.execute(query="UPDATE t SET v = %s", vars=["x"]), "UPDATE t"),
    "execute with names": (lambda c: c.execute("SELECT * FROM t WHERE v = %(select)s", {"select": "x"}), "SELECT t"),
    "execute bytes": (lambda c: c.execute(b"SELECT * FROM t"), "SELECT t"),
    "execute composed": (
        lambda c: c.execute(sql.SQL("SELECT {} FROM {}").format(sql.Literal("x"), sql.Identifier("t"))),
        'SELECT "t"',
    ),
    "execute several": (lambda c: c.execute("SELECT 1; DELETE FROM t"), "SELECT DELETE t"),
    "after a comment": (lambda c: c.execute("-- a comment\nSELECT * FROM t"), "SELECT t"),
    "executemany": (lambda c: c.executemany("INSERT INTO t VALUES (%s)", [(11,), (12,)]), "BATCH INSERT t"),
    "executemany by keyword": (
        lambda c: c.executemany(query="INSERT INTO t VALUES (%s)", vars_list=[(11,), (12,)]),
        "BATCH INSERT t",
    ),
    "executemany of one": (lambda c: c.executemany("INSERT INTO t VALUES (%s)", [(11,)]), "INSERT t"),
    "executemany of a generator": (
        lambda c: c.executemany("INSERT INTO t VALUES (%s)", ((i,) for i in (11, 12))),
        "BATCH INSERT t",
    ),
    "callproc": (lambda c: c.callproc("pg_backend_pid"), "CALL pg_backend_pid"),
    "copy_from": (lambda c: c.copy_from(io.StringIO("11\tx\n"), "t"), 'COPY "t"'),
    "copy_to": (lambda c: c.copy_to(file=io.StringIO(), table="t"), 'COPY "t"'),
    "copy_expert": (lambda c: c.copy_expert("COPY t TO STDOUT", io.StringIO()), "COPY t"),
    "copy_expert composed": (
        lambda c: c.copy_expert(sql.SQL("COPY {} TO STDOUT").format(sql.Identifier("t")), io.StringIO()),
        'COPY "t"',
    ),
    "execute_batch": (
        lambda c: psycopg2.extras.execute_batch(c, "INSERT INTO t VALUES (%s)", [(i,) for i in range(11, 18)], 3),
        "BATCH INSERT t",
    ),
    "execute_values": (
        lambda c: psycopg2.extras.execute_values(
            c, "INSERT INTO t VALUES %s", [(i,) for i in range(11, 18)], page_size=3
        ),
        "BATCH INSERT t",
    ),
    "execute_values by keyword": (
        lambda c: psycopg2.extras.execute_values(c, sql="INSERT INTO t VALUES %s", argslist=((i,) for i in (11, 12))),
        "BATCH INSERT t",
    ),
}


NUMBERS = {
    "query": (lambda c: c.execute("SELECT * FROM t WHERE id < %s", [4]), 3),
    "no rows": (lambda c: c.execute("SELECT * FROM t WHERE id < %s", [0]), 0),
    "change": (lambda c: c.execute("UPDATE t SET v = 'x'"), None),
    "returning": (lambda c: c.execute("UPDATE t SET v = 'x' RETURNING id"), 10),
    "procedure": (lambda c: c.callproc("generate_series", [1, 4]), 4),
    "values": (
        lambda c: psycopg2.extras.execute_values(
            c, "INSERT INTO t VALUES %s RETURNING id", [(11,), (12,), (13,)], page_size=2, fetch=True
        ),
        3,
    ),
}


@pytest.mark.proves("psycopg2.connect", "psycopg2.execute_*")
class TestOperations(Operations):
    """Of a cursor."""

    methods = METHODS
    numbers = NUMBERS
    batches = {"executemany": 2, "execute_batch": 7, "execute_values": 7}
    killed = (
        psycopg2.OperationalError,
        {"57P01", "psycopg2.errors.AdminShutdown", "psycopg2.OperationalError"},
    )

    def take(self, connection):
        """A cursor has the methods."""
        return connection.cursor()

    def process(self, connection):
        """As psycopg2 knows it."""
        return connection.info.backend_pid

    def ask(self, connection, text, *values):
        """With a cursor."""
        connection.cursor().execute(text, values or None)

    def ask_by_name(self, connection):
        """They have, also by keyword."""
        connection.cursor().execute("SELECT %(a)s::text", vars={"a": "x"})
        return True


def test_a_page_that_an_old_import_sends_is_named_after_its_operation(look):
    """For who imported `execute_values` before we instrumented: each page is a span, without values."""
    early = psycopg2.extras.execute_values

    def main(connection):
        early(connection.cursor(), "INSERT INTO t VALUES %s", [(i, "secret") for i in (11, 12, 13)], page_size=2)

    spans = look(main).spans()

    assert [span.name for span in spans] == ["INSERT t", "INSERT t"]
    assert "secret" not in str([dict(span.attributes) for span in spans])


READS = {
    "fetchone": (lambda c: [c.fetchone() for _ in range(3)], 3, [1, 1, 1]),
    "fetchmany": (lambda c: [c.fetchmany(4), c.fetchmany(4)], 2, [4, 4]),
    "fetchall": (lambda c: c.fetchall(), 1, [10]),
    "iteration": (list, 4, [4, 4, 2, 0]),
    "scroll": (lambda c: [c.scroll(2), c.fetchone()], 2, [None, 1]),
}


@pytest.mark.parametrize(
    ("factory", "read"), crossed(["none", "real dict", "named tuple", "dict", "function"], list(READS))
)
def test_a_named_cursor_has_a_span_for_each_round_trip(look, read, factory):
    """With the stock instrumentation, only `execute` has one; the rows that a round trip brought have none."""
    function, trips, rows = READS[read]

    def main(connection):
        cursor = connection.cursor("mine", cursor_factory=FACTORIES[factory])
        cursor.itersize = 4
        cursor.execute("SELECT * FROM t WHERE id > %s", [0])
        function(cursor)
        cursor.close()

    spans = look(main, options="rows", autocommit=False).spans()

    assert [span.name for span in spans] == ["SELECT t"] * (1 + trips)
    assert [span.attributes.get("db.response.returned_rows") for span in spans[1:]] == rows
    assert {span.attributes["db.query.text"] for span in spans} == {"SELECT * FROM t WHERE id > %s"}


def test_a_cursor_from_before_is_not_seen(wrap, run, table, instrumentor):  # noqa: ARG001  # likewise
    """It is of psycopg2's class, which cannot be changed; its connection's transaction is seen."""
    seen = wrap()

    def main(connection):
        instrumentor.uninstrument()
        cursor = connection.cursor("mine")
        cursor.execute("SELECT * FROM t")
        wrap()
        seen.spans()
        assert len(cursor.fetchall()) == 10
        connection.commit()

    run(main, autocommit=False)

    assert seen.names() == ["COMMIT"]
