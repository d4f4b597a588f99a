"""A comment in a query of any form that psycopg2 takes: it runs, and returns what it returns without the comment."""

from __future__ import annotations

import enum

import psycopg2.extras
import pytest
from psycopg2 import sql
from psycopg2.extras import execute_values

BACKEND = "SELECT query, 'é' FROM pg_stat_activity WHERE pid = pg_backend_pid()"
VALUES = "INSERT INTO t VALUES %s"


class Text(str, enum.Enum):
    """The queries of an application."""

    OF_BACKEND = BACKEND


# Form -> the query; those that have the comment.
FORMS = {
    "str": BACKEND,
    "a string enumeration": Text.OF_BACKEND,
    "bytes": BACKEND.encode(),
    "SQL": sql.SQL(BACKEND),
    "Composed": sql.SQL("SELECT query, {} FROM pg_stat_activity WHERE pid = pg_backend_pid()").format(sql.Literal("é")),
}


@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("form", FORMS)
def test_a_query_of_this_form(run, seen, form):
    """The server gets it with the comment."""

    def main(connection):
        cursor = connection.cursor()
        cursor.execute(FORMS[form])
        return cursor.fetchone()

    sent, value = run(main)

    assert value == "é"
    if form != "a string enumeration":
        assert "traceparent='00-" in sent
    span = next(span for span in seen.spans() if span.name.startswith("SELECT"))
    if span.instrumentation_scope.name.startswith("opentelemetry.") and form in {"str", "bytes"}:
        assert span.attributes["db.statement"] == sent


@pytest.mark.usefixtures("comments", "table")
def test_queries_that_psycopg2_puts_together(run):
    """Each page of many sets of parameters is bytes, as is what `mogrify` returns."""

    def main(connection):
        cursor = connection.cursor()
        psycopg2.extras.execute_values(cursor, VALUES, [(number, "é") for number in range(20, 250)])
        psycopg2.extras.execute_values(cursor, VALUES.encode(), [(300, "é")])
        psycopg2.extras.execute_batch(cursor, "DELETE FROM t WHERE id = %s", [(number,) for number in range(20, 30)])
        psycopg2.extras.execute_batch(cursor, b"DELETE FROM t WHERE id = %s", [(30,), (31,)])
        cursor.executemany(b"DELETE FROM t WHERE id = %s", [(32,), (33,)])
        cursor.execute(cursor.mogrify("DELETE FROM t WHERE id = %s AND v = %s", (34, "é")))
        cursor.execute(b"SELECT count(*), %s FROM t WHERE id > 19 AND v LIKE '%%'", ("é",))
        return cursor.fetchone()

    assert run(main) == (231 - 15, "é")


@pytest.mark.usefixtures("comments", "table")
def test_pages_of_a_function_that_was_imported_before(run):
    """Each of its pages is a query of its own, in bytes."""

    def main(connection):
        cursor = connection.cursor()
        execute_values(cursor, VALUES, [(number, "é") for number in range(20, 250)])
        cursor.execute("SELECT count(*) FROM t")
        return cursor.fetchone()[0]

    assert run(main) == 240


@pytest.mark.usefixtures("comments")
def test_what_is_no_query(run):
    """psycopg2's own error, for what it does not take."""

    def main(connection):
        for wrong in (7, ["SELECT 1"]):
            with pytest.raises(TypeError):
                connection.cursor().execute(wrong)
        for empty in (None, "", b""):
            with pytest.raises(psycopg2.ProgrammingError, match="empty"):
                connection.cursor().execute(empty)

    run(main)
