"""sqlite3 does what every wrapper of a database library does, in the place of the stock instrumentation."""

from __future__ import annotations

import sqlite3
import sys

from contracts.databases import Errors, Outcome, Takeover, Transparency

from otel_fastpath.db import conventions, database
from otel_fastpath.db.dbapi import query_plans
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as db_parameters
from otel_fastpath.wrapping import call as calls


def _ask(connection):
    assert connection.execute("SELECT 7").fetchone() == (7,)


def _query(connection):
    cursor = connection.cursor()
    return cursor.execute("SELECT ?, 'a'", (1,)).fetchone(), connection.execute("SELECT 2").fetchall()


def _batch(connection):
    connection.executescript("CREATE TABLE batch (id int)")
    connection.executemany("INSERT INTO batch VALUES (?)", [(1,), (2,)])
    connection.rollback()
    found = connection.execute("SELECT * FROM batch").fetchall()
    connection.executescript("DROP TABLE batch")
    return found


def _errors(connection):
    found = []
    for call in (
        lambda: connection.execute("SELECT * FROM nothing"),
        lambda: connection.executemany("INSERT INTO nothing VALUES (?)", [(1,)]),
        lambda: connection.executescript("SELEC 1"),
        lambda: connection.cursor().execute(7),
        lambda: sqlite3.connect("/nowhere/at/all.db"),
    ):
        try:
            call()
        except Exception as error:  # noqa: PERF203  # each of them
            found.append(type(error).__name__)
    return found


def _code(name, error):
    """Errors have names since Python 3.11."""
    return name if sys.version_info >= (3, 11) else f"sqlite3.{error.__name__}"


class TestContract(Errors, Outcome, Takeover, Transparency):
    """sqlite3, in memory."""

    query = staticmethod(_ask)
    entries = {
        "query": (_query, ((1, "a"), [(2,)])),
        "batch": (_batch, []),
        "errors": (_errors, ["OperationalError"] * 3 + ["TypeError", "OperationalError"]),
    }
    asked = [lambda c: c.execute("SELECT 1"), lambda c: c.executemany("UPDATE t SET v = ?", [("a",)])]
    options = "parameters,rows,sqlcommenter,slow=1us,repeats=2"

    errors = {
        "unique": (
            lambda c: c.execute("INSERT INTO t VALUES (?, 'secret')", (1,)),
            *(sqlite3.IntegrityError, _code("SQLITE_CONSTRAINT_PRIMARYKEY", sqlite3.IntegrityError)),
        ),
        "syntax": (
            lambda c: c.execute("SELEC 'secret'"),
            *(sqlite3.OperationalError, _code("SQLITE_ERROR", sqlite3.OperationalError)),
        ),
    }
    read = ("query",)

    own = {
        "connection plan": (database.Database, "connection_plan"),
        "read": (conventions, "read"),
        "plan": (query_plans.Plans, "plan"),
        "tell": (db_parameters, "put_parameters"),
        "series": (calls.CallDurations, "record_failed"),
        "comment": (comments, "comment"),
    }
    is_connected_before = False

    owners = (sqlite3, sqlite3.dbapi2)
    on_top = ((sqlite3, "connect"),)
    topped = staticmethod(_ask)

    # Comments do not change the spans.
    variants = [{"enable_commenter": True}]
    stood_back = (lambda c: c.cursor().execute("SELECT 1"), ["SELECT"])

    @staticmethod
    def program_of_both(connection):
        """What both see alike, and what stock's does not see."""
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE p (id int, v text)")
        cursor.execute("SELECT * FROM p WHERE v <> 'x' AND id = ?", (1,))
        cursor.execute("/* a comment */ select id from p")
        cursor.execute("-- a comment\nSELECT 1")
        cursor.executemany("INSERT INTO p VALUES (?, ?)", [(11, "two"), (12, "three")])
        connection.execute("DELETE FROM p")
        connection.executescript("SELECT 1")
        connection.commit()

    def check_stock(self, names):
        """Those of cursors."""
        assert names == ["CREATE", "SELECT", "select", "--", "INSERT"]

    def check_added(self, spans):
        """Those of connections, too."""
        names = ["CONNECT", "CREATE", "SELECT", "select", "SELECT", "INSERT", "DELETE", "SELECT"]
        assert [span.name for span in spans] == names
