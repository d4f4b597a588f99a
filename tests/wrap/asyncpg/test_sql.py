"""Summaries and texts of queries: the conventions' examples, PostgreSQL's lexical rules, and any text at all."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_fastpath.wrap.asyncpg._convention import read
from otel_fastpath.wrap.asyncpg._sql import tokens, without_literals
from otel_fastpath.wrap.asyncpg._summary import summarise

# "Generating a summary of the query" in OpenTelemetry's database conventions.
EXAMPLES = {
    "SELECT *\nFROM   wuser_table\nWHERE  username = ?": "SELECT wuser_table",
    "INSERT INTO shipping_details\n (order_id,\n address)\nSELECT order_id,\n address\nFROM   orders\n"
    "WHERE  order_id = ?": "INSERT shipping_details SELECT orders",
    "SELECT *\nFROM   songs,\n artists\nWHERE  songs.artist_id == artists.id": "SELECT songs artists",
    "SELECT order_date\nFROM   (SELECT *\n FROM   orders o\n JOIN customers c\n ON o.customer_id = c.customer_id)": (
        "SELECT SELECT orders customers"
    ),
    "SELECT *\nFROM   \"song list\",\n 'artists'": "SELECT \"song list\" 'artists'",
    "call some_stored_procedure": "call some_stored_procedure",
}
SUMMARIES = {
    "": "",
    "-- nothing": "",
    ";;": "",
    "(select 1)": "select",
    "/* a /* nested */ */ SELECT a FROM t1 AS x, ONLY t2": "SELECT t1 t2",
    "SELECT extract(year FROM born) FROM people WHERE a IS DISTINCT FROM b": "SELECT people",
    "SELECT * FROM a.b LEFT JOIN LATERAL (SELECT 1) x ON true FOR UPDATE": "SELECT a.b SELECT",
    "WITH x AS (SELECT * FROM orders), y (a, b) AS MATERIALIZED (SELECT 1) SELECT * FROM x JOIN y USING (a), c": (
        "SELECT orders SELECT SELECT c"
    ),
    "INSERT INTO t VALUES ($1) ON CONFLICT (id) DO UPDATE SET a = 2": "INSERT t",
    "UPDATE t SET a = 1, b = 2 FROM u WHERE t.id = u.id RETURNING a, b": "UPDATE t u",
    "DELETE FROM t USING u, v WHERE t.id = u.id": "DELETE t u v",
    "MERGE INTO t USING s ON a = b WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED THEN INSERT VALUES (1)": (
        "MERGE t s"
    ),
    "SELECT a FROM t1 UNION SELECT b FROM t2": "SELECT t1 SELECT t2",
    "CREATE TABLE IF NOT EXISTS a.b (id int REFERENCES c ON DELETE CASCADE)": "CREATE TABLE a.b",
    "CREATE TEMP TABLE t AS SELECT * FROM s": "CREATE TABLE t SELECT s",
    "CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)": "CREATE INDEX i",
    "CREATE INDEX ON t (a)": "CREATE INDEX t",
    "CREATE MATERIALIZED VIEW v AS SELECT 1": "CREATE MATERIALIZED VIEW v SELECT",
    "DROP TABLE a, b": "DROP TABLE a b",
    "ALTER TABLE ONLY t ADD COLUMN x int": "ALTER TABLE t",
    "TRUNCATE TABLE a, b": "TRUNCATE a b",
    "COPY t (a, b) FROM STDIN": "COPY t",
    "COPY (SELECT * FROM t) TO STDOUT": "COPY SELECT t",
    "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t": "EXPLAIN SELECT t",
    "BEGIN; INSERT INTO t VALUES (1); COMMIT": "BEGIN INSERT t COMMIT",
    "ROLLBACK TO x": "ROLLBACK TO",
    "GRANT SELECT, UPDATE ON t TO u": "GRANT",
    "REFRESH MATERIALIZED VIEW v": "REFRESH v",
    "SET LOCAL search_path TO a": "SET search_path",
    "SELECT * FROM generate_series(1, 3) AS x": "SELECT generate_series",
}


@pytest.mark.parametrize("text", {**EXAMPLES, **SUMMARIES})
def test_summaries(text):
    """Operations and what they are applied to, as they are written."""
    assert summarise(list(tokens(text))).text == {**EXAMPLES, **SUMMARIES}[text]


def test_a_summary_ends_between_words():
    """At 255 characters at most."""
    text = "SELECT * FROM " + ", ".join(f"table_{number:03}" for number in range(100))  # noqa: S608  # is not executed

    summary = summarise(list(tokens(text))).text

    assert len(summary) == 6 + 24 * 10
    assert summary.endswith(" table_023")


LITERALS = (
    "'secret'",
    "'se''cret'",
    r"E'se\'cret'",
    "B'101'",
    "x'1F'",
    "U&'secret'",
    "$$secret$$",
    "$tag$ $$ secret $tag$",
    "4711",
    "47.11e-3",
    ".4711",
    "0xFF4711",
    "4_711",
    "TRUE",
    "false",
)


@pytest.mark.parametrize("literal", LITERALS)
def test_literals_are_replaced(literal):
    """Of each kind that PostgreSQL has; identifiers and operators stay."""
    text = f"SELECT {literal} AS \"4711 'x'\", a1, b-{literal} FROM t WHERE c = {literal} AND d ->> {literal}"  # noqa: S608  # likewise

    found = without_literals(list(tokens(text)))

    assert found == "SELECT ? AS \"4711 'x'\", a1, b-? FROM t WHERE c = ? AND d ->> ?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1 -- secret", "SELECT ?"),
        ("SELECT /* secret */ 1", "SELECT   ?"),
        ("SELECT 'open", "SELECT ?"),
        ("SELECT $$open", "SELECT ?"),
        ("SELECT a /* open", "SELECT a"),
        (r"SELECT 'a\', secret", "SELECT ?"),
        (r"SELECT 'a\\', b", "SELECT ?, b"),
        ("SELECT a FROM t WHERE b IN (1, 'x', 3)", "SELECT a FROM t WHERE b IN (?)"),
        ("VALUES (1, 2)", "VALUES (?, ?)"),
        ("SELECT INTERVAL '1 day'", "SELECT INTERVAL ?"),
    ],
)
def test_what_may_hold_anything_goes(text, expected):
    """Comments, and all that follows where nobody knows where a literal ends."""
    assert without_literals(list(tokens(text))) == expected


def test_parameterised_text_is_not_altered():
    """However long."""
    text = f"SELECT 'x' FROM t WHERE a = $1 {'-' * 20_000}"  # noqa: S608  # likewise

    assert read(text).text == text
    assert len(read(f"SELECT '{'x' * 20_000}").text) == len("SELECT ?")


# How long it takes to make a text says how busy the machine is.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
sql = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("SELECT", "FROM", "INSERT", "INTO", "UPDATE", "SET", "WITH", "AS", "JOIN", "CREATE", "TABLE", "DROP"),
                *("(", ")", ",", ";", ".", "'", '"', "$$", "$1", "--", "/*", "*/", "\n", "E'", "\\", "a", "b", "COPY"),
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=30,
).map(" ".join)


@unhurried
@given(sql)
def test_any_text_has_tokens_a_summary_and_a_text(text):
    """Nothing raises, and the tokens are the text."""
    parts = list(tokens(text))

    assert "".join(part.text for part in parts) == text
    assert len(summarise(parts).text) <= 255
    read(text)


# What no table can be called, so that it is a literal wherever it stands but where a table's name is expected.
secrets = st.text(alphabet="abcxyz'\"\\$;- 0189", max_size=12)


@unhurried
@given(secrets, st.sampled_from(["'{}'", "E'{}'", "$q${}$q$", "N'{}'"]), sql)
def test_no_literal_leaves(secret, form, around):
    """Whatever is in it, quoted as PostgreSQL wants it, in front of whatever text."""
    marked = f"zq7{secret}qz7"
    quoted = marked.replace("'", "''").replace("\\", "\\\\") if "'" in form else marked.replace("$q$", "")
    query = read(f"SELECT a, {form.format(quoted)} + 1, {around}")

    assert "zq7" not in query.text or "$1" in query.raw
    assert "zq7" not in query.summary.text
