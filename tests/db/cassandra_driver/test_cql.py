"""What is read of a CQL text."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_fastpath import compiled
from otel_fastpath.db.cassandra import cql

TEXTS = {
    "SELECT * FROM ks.users WHERE id = 550e8400-e29b-41d4-a716-446655440000": (
        "SELECT ks.users",
        "SELECT * FROM ks.users WHERE id = ?",
    ),
    "INSERT INTO users (id) VALUES ('secret') USING TTL 86400 AND TIMESTAMP 1": (
        "INSERT users",
        "INSERT INTO users (id) VALUES (?) USING TTL ? AND TIMESTAMP ?",
    ),
    "DELETE FROM users USING TIMESTAMP 5 WHERE id = 'it''s secret'": (
        "DELETE users",
        "DELETE FROM users USING TIMESTAMP ? WHERE id = ?",
    ),
    "UPDATE users SET tags = tags + {'secret': 0xCAFE}, at = 1h30m, d = P1Y2M, e = PT5S WHERE id = 1.5e10": (
        "UPDATE users",
        "UPDATE users SET tags = tags + {?: ?}, at = ?, d = ?, e = ? WHERE id = ?",
    ),
    "SELECT a FROM t WHERE b = 'x' // secret\n AND c = 2 -- secret\r\n AND d = /* secret */ 3": (
        "SELECT t",
        "SELECT a FROM t WHERE b = ?  \n AND c = ?  \r\n AND d =   ?",
    ),
    'INSERT INTO t JSON \'{"a": "secret"}\'': ("INSERT t", "INSERT INTO t JSON ?"),
    "CREATE FUNCTION f (a int) RETURNS int LANGUAGE java AS $$ return secret; // $$": (
        "CREATE FUNCTION f",
        "CREATE FUNCTION f (a int) RETURNS int LANGUAGE java AS ?",
    ),
    "BEGIN UNLOGGED BATCH INSERT INTO a (b) VALUES (1); UPDATE c SET d = 2; APPLY BATCH;": (
        "BATCH INSERT a UPDATE c",
        "BEGIN UNLOGGED BATCH INSERT INTO a (b) VALUES (?); UPDATE c SET d = ?; APPLY BATCH;",
    ),
    "CREATE ROLE bob WITH PASSWORD = 'secret'": ("CREATE ROLE bob", "CREATE ROLE bob WITH PASSWORD = ?"),
    'SELECT "secretary" FROM "Ks"."T1" WHERE P1 = :id': (
        'SELECT "Ks"."T1"',
        'SELECT "secretary" FROM "Ks"."T1" WHERE P1 = :id',
    ),
    "TRUNCATE users": ("TRUNCATE users", "TRUNCATE users"),
    "USE ks": ("USE", "USE ks"),
    "SELECT 'unfinished secret": ("SELECT", "SELECT ?"),
    "SELECT a /* unfinished secret": ("SELECT", "SELECT a"),
    "": ("", ""),
    "-- secret": ("", ""),
    "// secret": ("", ""),
}


@pytest.fixture(autouse=True)
def _core(core, monkeypatch):
    """The scanner of each core."""
    scanner = compiled.load("db.queries.sql", core)
    monkeypatch.setattr(cql, "hot", SimpleNamespace(db_queries_sql=scanner))


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_without_values(text):
    """Its operations with their tables, and the text without its literals and comments."""
    found = cql.read(text, has_arguments=False)

    assert (found.summary, found.text) == TEXTS[text]
    assert "secret" not in found.text.replace("secretary", "")


def test_a_text_with_values_is_unchanged():
    """As its values are not in it; but for a text of which that is not sure."""
    text = "SELECT a FROM b WHERE c = ? AND d = 1h30m // %s"

    assert cql.read(text, has_arguments=True).text == text
    assert cql.read("SELECT a FROM b WHERE c = %(d)s", has_arguments=True).text == "SELECT a FROM b WHERE c = %(d)s"
    assert "1" not in cql.read("DELETE FROM a WHERE b = 1; DELETE FROM a WHERE b = 2", has_arguments=True).text


@pytest.mark.parametrize("has_arguments", [True, False])
def test_a_long_text_is_cut_before_the_token_at_the_cut(has_arguments):
    """Wherever that is: none of a literal is left."""
    literal = "deadbeef-dead-beef-dead-beefdeadbeef"

    for length in range(cql.LONGEST - 60, cql.LONGEST + 5):
        text = "SELECT " + "a" * (length - 30) + f" FROM b WHERE c IN ({literal}, '{literal}', {literal})"
        found = cql.read(text, has_arguments=has_arguments)
        assert len(found.text) <= cql.LONGEST + 1
        assert "dead" not in found.text


@given(st.text(alphabet="aP1-'\"$/*\n \\;?%s(){}[].:µ", max_size=60))
def test_any_text_can_be_read(text):
    """None raises."""
    for has_arguments in (True, False):
        found = cql.read(text, has_arguments=has_arguments)
        assert len(found.summary) <= 300


@pytest.mark.parametrize("length", [cql.LONGEST, 5 * cql.LONGEST])
@pytest.mark.parametrize(
    "part",
    [
        "a",
        "aaaaaaaa ",
        "'",
        '"',
        "$$",
        "/*",
        "//",
        "--",
        "%(",
        "USING ",
        "BEGIN ",
        "1a",
        "P1Y",
        "P1",
        "a-",
        "0-",
        "PT",
        " ",
        "\\'",
    ],
)
def test_the_time_is_linear(part, length):
    """Whatever is repeated."""
    text = part * (length // len(part))
    begun = time.perf_counter()

    cql.read(text, has_arguments=True)

    assert time.perf_counter() - begun < 0.25
