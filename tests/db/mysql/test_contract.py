"""PyMySQL and mysqlclient do what every wrapper of a database library does."""

from __future__ import annotations

import pytest
from contracts.databases import Errors, Outcome, Takeover

from otel_fastpath.db import conventions, cursors, database
from otel_fastpath.db.dbapi import query_plans
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as db_parameters
from otel_fastpath.wrapping import call as calls


def _fetched(connection, *args):
    cursor = connection.cursor()
    cursor.execute(*args)
    return cursor.fetchall()


def _ask(connection):
    assert _fetched(connection, "SELECT 7") == ((7,),)


def _batch(connection):
    cursor = connection.cursor()
    cursor.execute("CREATE TEMPORARY TABLE batch (id int)")
    cursor.executemany("INSERT INTO batch VALUES (%s)", [(1,), (2,)])
    connection.rollback()
    cursor.execute("DROP TABLE batch")
    return list(cursor.fetchall())


def _errors(connection):
    found = []
    for call in (
        lambda: connection.cursor().execute("SELECT * FROM nothing"),
        lambda: connection.cursor().executemany("INSERT INTO nothing VALUES (%s)", [(1,)]),
        lambda: connection.cursor().execute("SELEC 1"),
    ):
        try:
            call()
        except Exception as error:  # noqa: PERF203  # each of them
            found.append(type(error).__name__)
    return found


class TestContract(Errors, Outcome, Takeover):
    """Each driver in turn, on a real MariaDB."""

    query = staticmethod(_ask)
    entries = {
        "query": (lambda c: _fetched(c, "SELECT %s, 'a'", (1,)), ((1, "a"),)),
        "batch": (_batch, []),
        "errors": (_errors, ["ProgrammingError"] * 3),
    }
    asked = [lambda c: c.cursor().execute("SELECT 1"), lambda c: c.cursor().executemany("SELECT %s", [(1,), (2,)])]
    options = "parameters,rows,sqlcommenter,slow=1us,repeats=2"
    read = ("query",)
    bound = ("rows",)
    own = {
        "connection plan": (database.Database, "connection_plan"),
        "read": (conventions, "read"),
        "plan": (query_plans.Plans, "plan"),
        "tell": (db_parameters, "put_parameters"),
        "rows": (cursors, "count"),
        "series": (calls.CallDurations, "record_failed"),
        "comment": (comments, "comment"),
    }
    stood_back = (lambda c: c.cursor().execute("SELECT 1"), ["SELECT"])

    @pytest.fixture
    def both_runs(self, run, table):  # noqa: ARG002  # a fixture cannot use `usefixtures`
        """Run the program, whose commit has no span."""
        return lambda: run(self.program_of_both)

    @staticmethod
    def program_of_both(connection):
        """What both see alike."""
        cursor = connection.cursor()
        cursor.execute("SELECT * FROM t WHERE v <> 'x' AND id = %s", (1,))
        cursor.execute("/* a comment */ select id from t")
        cursor.execute("-- a comment\nSELECT 1")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(11, "two"), (12, "three")])
        cursor.callproc("p", (1,))
        cursor.close()
        connection.rollback()

    def check_stock(self, names):
        """Each of the program's."""
        assert set(names) == {"SELECT", "select", "--", "INSERT", "p"}

    def check_added(self, spans):
        """Those around it."""
        assert {"CONNECT", "ROLLBACK"} < {span.name for span in spans}
