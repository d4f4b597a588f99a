"""psycopg2 does what every wrapper of a database library does."""

from __future__ import annotations

import io

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import pytest
from contracts.databases import Errors, Outcome, StockCommenter, Takeover, Transparency
from opentelemetry import context
from psycopg2 import ProgrammingError, errors, extras, sql

from otel_fastpath.db import connecting as db_connecting
from otel_fastpath.db import conventions, cursors, database, derived
from otel_fastpath.db.dbapi import query_plans as dbapi_plans
from otel_fastpath.db.psycopg2 import connecting, hooks, texts
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as db_parameters
from otel_fastpath.wrapping import call as calls


def _query(connection):
    cursor = connection.cursor(cursor_factory=extras.DictCursor)
    cursor.execute(sql.SQL("SELECT {}, %s").format(sql.Literal(1)), [2])
    found = [cursor.fetchone()[:]]
    cursor.callproc("generate_series", [3, 4])
    return [*found, *map(tuple, cursor.fetchall())]


def _batch(connection):
    cursor = connection.cursor()
    cursor.execute("CREATE TEMP TABLE batch (id int)")
    cursor.executemany("INSERT INTO batch VALUES (%s)", [(1,), (2,)])
    extras.execute_batch(cursor, "INSERT INTO batch VALUES (%s)", [(3,), (4,)])
    extras.execute_values(cursor, "INSERT INTO batch VALUES %s", [(5,), (6,)])
    out = io.StringIO()
    cursor.copy_to(out, "batch")
    cursor.execute("DROP TABLE batch")
    return out.getvalue().split()


def _text(connection):
    out = io.StringIO()
    connection.cursor().copy_to(out, "pg_namespace", columns=("nspname",))
    return fetched(connection, "SELECT 1"), "public" in out.getvalue()


def _parts(connection):
    with connection.cursor("mine", withhold=True) as cursor:
        cursor.itersize = 2
        cursor.execute("SELECT generate_series(1, 5)")
        found = [cursor.fetchone(), *cursor.fetchmany(1), *cursor]
    connection.commit()
    return found


def _errors(connection):
    found = []
    for call in (
        lambda: connection.cursor().execute("SELECT * FROM nothing"),
        lambda: connection.cursor().executemany("INSERT INTO nothing VALUES (%s)", [(1,)]),
        lambda: connection.cursor().copy_expert("COPY nothing TO STDOUT", io.StringIO()),
        lambda: extras.execute_values(connection.cursor(), "SELECT nothing", [(1,)]),
        lambda: extras.execute_batch(7, "SELECT 1", [(1,)]),
        lambda: connection.cursor().execute("SELECT %s", [object()]),
        lambda: connection.cursor().execute(7),
        lambda: connection.cursor(cursor_factory=7),
        lambda: psycopg2.connect("nonsense"),
    ):
        try:
            call()
        except Exception as error:  # each of them
            found.append(type(error).__name__)
        connection.rollback()
    return found


def _ask(connection):
    assert fetched(connection, "SELECT 7") == 7


def fetched(connection, *args, **kwargs):
    """The first value of a query."""
    cursor = connection.cursor()
    cursor.execute(*args, **kwargs)
    return cursor.fetchone()[0]


class Own(psycopg2.extensions.connection):
    """A connection of an application."""


class Cursor(psycopg2.extensions.cursor):
    """A cursor of an application."""


def own(*args):
    """A factory of connections that is no class."""
    return Own(*args)


def own_cursor(*args):
    """A factory of cursors that is no class."""
    return Cursor(*args)


def _cursor_that_raises():
    """A cursor of an application, new for each test: a class of ours is kept for each."""

    class Raising(psycopg2.extensions.cursor):
        def execute(self, *_args):
            pass

    return Raising, "execute", lambda c: c.cursor(cursor_factory=Raising).execute("SELECT 1")


def _asynchronous(database_url):
    connection = psycopg2.connect(database_url, async_=True)
    extras.wait_select(connection)
    cursor = connection.cursor()
    cursor.execute("SELECT %s", [1])
    extras.wait_select(connection)
    assert cursor.fetchall() == [(1,)]
    cursor.execute("SELECT nothing")
    with pytest.raises(errors.UndefinedColumn):
        extras.wait_select(connection)
    connection.close()


def _cursors_are_stock(connection):
    assert type(connection) is psycopg2.extensions.connection
    assert type(connection.cursor()).__name__ == "TracedCursorFactory"
    connection.cursor().execute("SELECT 1")


UNIQUE = (errors.UniqueViolation, "23505")
NO_TYPE = (ProgrammingError, "psycopg2.ProgrammingError")


@pytest.mark.proves("psycopg2.connect")
class TestContract(Errors, Outcome, StockCommenter, Takeover, Transparency):
    """psycopg2, on a real PostgreSQL."""

    query = staticmethod(_ask)
    entries = {
        "query": (_query, [[1, 2], (3,), (4,)]),
        "text": (_text, (1, True)),
        "batch": (_batch, ["1", "2", "3", "4", "5", "6"]),
        "parts": (_parts, [(1,), (2,), (3,), (4,), (5,)]),
        "errors": (
            _errors,
            [
                *("UndefinedTable", "UndefinedTable", "UndefinedTable", "ValueError", "AttributeError"),
                *("ProgrammingError", "TypeError", "TypeError", "ProgrammingError"),
            ],
        ),
    }
    asked = [lambda c: c.cursor().execute("SELECT 1")]
    options = "parameters,rows,sqlcommenter,slow=1us,repeats=2"

    errors = {
        "unique": (lambda c: c.cursor().execute("INSERT INTO t VALUES (%s, 'secret')", (1,)), *UNIQUE),
        "syntax": (lambda c: c.cursor().execute("SELEC 'secret'"), errors.SyntaxError, "42601"),
        "no table": (lambda c: c.cursor().execute("SELECT 'secret' FROM nothing"), errors.UndefinedTable, "42P01"),
        "bad value": (lambda c: c.cursor().execute("SELECT 'secret'::int"), errors.InvalidTextRepresentation, "22P02"),
        "many": (lambda c: c.cursor().executemany("INSERT INTO t VALUES (%s)", [(1,)]), *UNIQUE),
        "values": (lambda c: extras.execute_values(c.cursor(), "INSERT INTO t VALUES %s", [(1, "secret")]), *UNIQUE),
        "copy": (
            lambda c: c.cursor().copy_from(io.StringIO("secret\tsecret\n"), "t"),
            *(errors.InvalidTextRepresentation, "22P02"),
        ),
        "timeout": (
            lambda c: c.cursor().execute("SET statement_timeout = 20; SELECT pg_sleep(5)"),
            *(errors.QueryCanceled, "57014"),
        ),
        "wrong type": (lambda c: c.cursor().execute(7), TypeError, "TypeError"),
        "no adapter": (lambda c: c.cursor().execute("SELECT %s", [object()]), *NO_TYPE),
        "nothing": (lambda c: c.cursor().execute("/* a comment */"), *NO_TYPE),
        "empty": (lambda c: c.cursor().execute(""), *NO_TYPE),
    }
    read = ("text",)

    def check_error(self, name, span):
        """Only a text with parameters is kept as it is."""
        assert name == "unique" or "secret" not in str(dict(span.attributes))

    bound = ("rows",)
    own = {
        "connection plan": (database.Database, "connection_plan"),
        "new connection plan": (database.Database, "new_connection_plan"),
        "read": (conventions, "read"),
        "plan": (dbapi_plans.Plans, "plan"),
        "tell": (db_parameters, "put_parameters"),
        "rows": (cursors, "count"),
        "series": (calls.CallDurations, "record_failed"),
        "comment": (comments, "comment"),
        "text": (texts, "render"),
        "class": (derived.Derived, "over"),
        "server": (connecting, "server_of"),
        "meant": (connecting, "_meant"),
        "factory": (connecting, "_with_factory"),
        "cursor": (connecting, "_given"),
        "left": (hooks, "_leave"),
        "ended": (hooks, "_end_pending"),
        "begin": (db_connecting, "begin_connect"),
    }
    raising = [_cursor_that_raises]
    is_connected_before = False

    @pytest.fixture
    def program(self, run, database_url):
        """Each entry once, connections and cursors of factories that are no classes, and asynchronous ones."""

        async def main(connection):
            before = context.get_current()
            await self.ask_everything(connection)
            connection.commit()
            made = psycopg2.connect(database_url, connection_factory=own)
            with made, made.cursor(cursor_factory=own_cursor) as cursor:
                cursor.execute("SELECT 1")
                assert cursor.fetchone() == (1,)
            made.close()
            _asynchronous(database_url)
            assert context.get_current() is before

        return lambda: run(main, autocommit=False)

    names = {"CREATE", "INSERT", "select", "SELECT", "--", "(SELECT", "pg_backend_pid"}
    stood_back = (_cursors_are_stock, ["SELECT"])
    differences = [
        (lambda c: c.cursor().execute(query="SELECT 1"), ["postgres"], ["SELECT"]),
        (lambda c: c.cursor().execute(b"SELECT 1"), ["postgres"], ["SELECT"]),
        (lambda c: c.cursor().execute(sql.SQL("SELECT 1")), ["postgres"], ["SELECT"]),
        (lambda c: c.cursor(cursor_factory=extras.RealDictCursor).execute("SELECT 1"), [], ["SELECT"]),
        (
            lambda c: extras.execute_values(c.cursor(), "SELECT %s", [(1,), (2,), (3,)], page_size=2),
            *(["postgres"] * 2, ["SELECT"] * 2),
        ),
    ]
    violation = (
        lambda c: c.cursor().execute("INSERT INTO t VALUES (%s)", [1]),
        *(psycopg2.errors.UniqueViolation, "(id)=(1)", "23505"),
    )

    @pytest.fixture
    def both_runs(self, run):
        """Run the program, whose commit has no span."""
        return lambda: run(self.program_of_both, autocommit=False)

    @staticmethod
    def program_of_both(connection):
        """What both see alike."""
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

    def check_added(self, spans):
        """Those around it, and each fetch of a named cursor."""
        names = [span.name for span in spans]
        assert names[0] == "CONNECT"
        assert names[-3:] == ["COMMIT", "SELECT", "SELECT"]

    def check_difference(self, spans):
        """With their texts."""
        assert {span.attributes["db.statement"][:6] for span in spans} == {"SELECT"}

    parameter_in_text = "'x'"
    commented = staticmethod(lambda c, text: fetched(c, text, ["x"]))

    owners = (
        *(psycopg2, extras, psycopg2.extensions),
        *(psycopg2.extensions.cursor, psycopg2.extensions.connection),
    )
    replaced = {"_connect", "execute_batch", "execute_values"}
    on_top = ((psycopg2, "_connect"),)
    topped = staticmethod(_ask)
    comments = [
        *(lambda c, text, make=make: fetched(c, make(text)) for make in (str, str.encode, sql.SQL)),
        *(
            lambda c, text, make=make: fetched(c, query=make(text), vars={"a": 1})
            for make in (str, str.encode, sql.SQL)
        ),
    ]
