"""A comment in a query of any form that psycopg takes: it runs, and returns what it returns without the comment."""

from __future__ import annotations

import enum
import sys

import pytest
from psycopg import sql

BACKEND = "SELECT query, 'é' FROM pg_stat_activity WHERE pid = pg_backend_pid()"


class Text(str, enum.Enum):
    """The queries of an application."""

    OF_BACKEND = BACKEND


FORMS = {
    "str": BACKEND,
    "a string enumeration": Text.OF_BACKEND,
    "bytes": BACKEND.encode(),
    "SQL": sql.SQL(BACKEND),
    "Composed": sql.SQL("SELECT query, {} FROM pg_stat_activity WHERE pid = pg_backend_pid()").format(sql.Literal("é")),
}
if sys.version_info >= (3, 14):
    from string.templatelib import Template

    FORMS["a template string"] = Template(BACKEND)


@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("form", FORMS)
def test_a_query_of_this_form(run, seen, form):
    """The server gets it with the comment."""
    if form == "a template string" and not hasattr(sql, "as_string"):
        pytest.skip("this release of psycopg takes none")

    def main(connection):
        return connection.execute(FORMS[form]).fetchone()

    sent, value = run(main)

    assert value == "é"
    if form not in {"a string enumeration", "a template string"}:
        assert "traceparent='00-" in sent
    span = next(span for span in seen.spans() if span.name.startswith("SELECT"))
    if span.instrumentation_scope.name.startswith("opentelemetry.") and form in {"str", "bytes"}:
        assert span.attributes["db.statement"] == sent


@pytest.mark.usefixtures("comments", "table")
def test_queries_with_parameters(run):
    """In bytes, once and with many sets of parameters, by cursors that read placeholders and those that do not."""
    from psycopg import ClientCursor

    def main(connection):
        with connection.cursor() as cursor:
            cursor.executemany(b"INSERT INTO t VALUES (%s, %s)", [(20, "é"), (21, "é")])
            cursor.execute(b"DELETE FROM t WHERE id = %s", (20,))
            with cursor.copy(b"COPY t FROM STDIN") as copy:
                copy.write_row((22, "é"))
            rows = list(cursor.stream(b"SELECT id FROM t WHERE id > %s AND v LIKE '%%'", (19,)))
        with ClientCursor(connection) as cursor:
            cursor.execute(b"SELECT count(*), %s FROM t", ("é",))
            return rows, cursor.fetchone()

    rows, counted = run(main)

    assert sorted(rows) == [(21,), (22,)]
    assert counted == (12, "é")


@pytest.mark.usefixtures("comments")
def test_what_is_no_query(run):
    """Psycopg's own error, for what it does not take."""

    def main(connection):
        for wrong in (None, 7, ["SELECT 1"]):
            with pytest.raises(TypeError):
                connection.execute(wrong)

    run(main)
