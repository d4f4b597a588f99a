"""Summaries and texts of queries: the conventions' examples and PostgreSQL's lexical rules."""

from __future__ import annotations

import pytest

from otel_fastpath.db.conventions import read

# "Generating a summary of the query" in OpenTelemetry's database conventions. There 'artists' is part of the summary:
# in PostgreSQL it is a literal.
EXAMPLES = {
    "SELECT *\nFROM   wuser_table\nWHERE  username = ?": "SELECT wuser_table",
    "INSERT INTO shipping_details\n (order_id,\n address)\nSELECT order_id,\n address\nFROM   orders\n"
    "WHERE  order_id = ?": "INSERT shipping_details SELECT orders",
    "SELECT *\nFROM   songs,\n artists\nWHERE  songs.artist_id == artists.id": "SELECT songs artists",
    "SELECT order_date\nFROM   (SELECT *\n FROM   orders o\n JOIN customers c\n ON o.customer_id = c.customer_id)": (
        "SELECT SELECT orders customers"
    ),
    "SELECT *\nFROM   \"song list\",\n 'artists'": 'SELECT "song list"',
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
    'SELECT t.from, excluded.select FROM a."b c".d e': 'SELECT a."b c".d',
    "SHOW 'x'": "SHOW",
    "COPY t FROM '/x'": "COPY t",
    "SET app.token TO x": "SET app.token",
    'SELECT * FROM "open': "SELECT",
}


@pytest.mark.parametrize("text", {**EXAMPLES, **SUMMARIES})
def test_summaries(scan, text):
    """Operations and what they are applied to, as they are written."""
    assert scan(text).summary == {**EXAMPLES, **SUMMARIES}[text]


def test_a_summary_ends_between_words(scan):
    """At 255 characters at most."""
    text = "SELECT * FROM " + ", ".join(f"table_{number:03}" for number in range(100))  # noqa: S608  # is not executed

    summary = scan(text).summary

    assert len(summary) == 6 + 24 * 10
    assert summary.endswith(" table_023")


LITERALS = (
    "n'secret'",
    "u&'s\\0065cret'",
    "$é1$secret$é1$",
    "$_$ $secret$ $_$",
    "$€$ secret $€$",
    "0o4711",
    "0b101_1",
    "4711.",
    "4711E+2",
    "'sec\\\\ret'",
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
def test_literals_are_replaced(scan, literal):
    """Of each kind that PostgreSQL has; identifiers and operators stay."""
    text = f"SELECT {literal} AS \"4711 'x'\", a1, b-{literal} FROM t WHERE c = {literal} AND d ->> {literal}"  # noqa: S608  # likewise

    assert scan(text).text == "SELECT ? AS \"4711 'x'\", a1, b-? FROM t WHERE c = ? AND d ->> ?"


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
        ("SELECT 1 -- it's\r, 'secret'", "SELECT ?  \r, ?"),
        ("SELECT 1 - -1, a-1, $1-2", "SELECT ? - -?, a-?, $1-?"),
        ("SELECT 'a'\n  'secret'", "SELECT ?\n  ?"),
        ("SELECT E'a'\n 'b\\' secret', 1", "SELECT ?\n ?"),
        ("SELECT a$b$, $b$ secret", "SELECT a$b$, ?"),
        ("SELECT $a b$, 1", "SELECT $a b$, ?"),
        ("SELECT 1$a$ secret $a$", "SELECT ?"),
        ("SELECT naïve€'secret', e'x'", "SELECT naïve€?, ?"),
        ("SELECT a\xa0'secret'", "SELECT a\xa0?"),
        ('SELECT "open, secret', "SELECT ?"),
        ('SELECT u&"a""b", "c"', 'SELECT u&"a""b", "c"'),
        ("SELECT a*/*c*/b", "SELECT a* b"),
        ("SELECT a /* /* b */ c", "SELECT a"),
        ("SELECT a -- b", "SELECT a"),
        (
            "SELECT a WHERE b IN (1) AND c IN (d, 2) AND e IN (true,\n3)",
            "SELECT a WHERE b IN (?) AND c IN (d, ?) AND e IN (?)",
        ),
        ("SELECT a[1:2], x::numeric(10,2)", "SELECT a[?:?], x::numeric(?,?)"),
        ("SET app.token TO secret, 'x'", "SET app.token TO ?, ?"),
        ('SET LOCAL app.token = "secret"', "SET LOCAL app.token = ?"),
        ("ALTER ROLE r SET app.token = secret; SELECT a", "ALTER ROLE r SET app.token = ?; SELECT a"),
        ("UPDATE t SET a = b, c = 1", "UPDATE t SET a = b, c = ?"),
    ],
)
def test_what_may_hold_anything_goes(scan, text, expected):
    """Comments, and all that follows where nobody knows where a literal ends."""
    assert scan(text).text == expected


def test_only_arguments_let_a_literal_leave():
    """A parameter in the text says nothing; and a text that cannot have parameters has its values in it."""
    text = "SELECT 'x' FROM t WHERE a = $1"

    assert read(text, has_arguments=True).text is text
    assert read(text, has_arguments=False).text == "SELECT ? FROM t WHERE a = $1"
    for other in (
        "PREPARE p AS SELECT $1, 'x'",
        "EXECUTE p('x')",
        "SELECT $1; ALTER ROLE r PASSWORD 'x'",
        "SELECT $1; 'x'",
        "SELECT $1, 'x",
        r"SELECT $1, 'a\', x'",
        "DO $$ BEGIN x; END $$",
        "COPY t FROM '/x'",
        "SET a = 'x'",
        "EXPLAIN EXECUTE p('x')",
    ):
        assert "x" not in read(other, has_arguments=True).text.replace("EXECUTE", "").replace("EXPLAIN", "")


def test_one_statement_may_end_with_a_semicolon(scan):
    """And nothing behind it."""
    assert scan("SELECT 1 ; ").takes_arguments
    assert scan("(SELECT 1)").takes_arguments
    assert not scan("SELECT 1; -- x").takes_arguments
    assert not scan("").takes_arguments


class Text(str):
    """A text with a method of its own."""

    __slots__ = ()

    def __getitem__(self, key):
        """Raise."""
        raise LookupError


def test_what_is_no_plain_text_can_be_read():
    """A subclass of `str`, and what asyncpg refuses itself."""
    assert read(Text("SELECT 1"), has_arguments=False).text == "SELECT ?"
    assert read(None, has_arguments=True).text == ""


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("'secret'", "?"),
        ("'secret''secret'", "?"),
        (r"E'secret\'secret'", "?"),
        ("$a$secret$a$", "?"),
        ("4711.0815", "?"),
        ('"secret"', ""),
        ("secret.secret", ""),
        ("-- secret", ""),
        ("/* secret */", ""),
        ("$4711", ""),
    ],
)
def test_a_long_text_is_cut_at_a_tokens_end(scan, token, expected):
    """Wherever in the token the limit is, nothing of it is left; arguments make no difference."""
    text = f"SELECT a, {token}, b"
    for most in range(len("SELECT a, ") + 1, len("SELECT a, ") + len(token) + 1):
        found = scan(text, most)
        # One character of what opens a comment is an operator.
        assert found.text.rstrip(" /-") in {f"SELECT a, {expected}".strip(), "SELECT a,"}
        assert found.summary == "SELECT"
        assert not found.takes_arguments


def test_a_text_with_arguments_is_cut_as_well():
    """What has not been read does not leave."""
    text = f"SELECT 'x' FROM t WHERE a = $1 {'- b ' * 5_000}"  # noqa: S608  # likewise

    found = read(text, has_arguments=True).text

    assert found.startswith("SELECT ? FROM t WHERE a = $1 - b - b")
    assert len(found) <= 8192


# What freezes a scanner that tries again: an escape at the end of a string that has no end.
FROZEN = "INSERT INTO t VALUES (E'" + "x" * 8167 + "\\'" + "y" * 60


@pytest.mark.parametrize("length", [30, 8191, 8192, 8193, len(FROZEN)])
def test_an_escape_at_the_cut(scan, length):
    """Of a valid INSERT that is a little longer than what is read."""
    assert scan(FROZEN[:length]).text == "INSERT INTO t VALUES (?"
