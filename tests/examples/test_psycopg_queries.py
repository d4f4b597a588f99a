"""The example of docs/databases.md prints a line for each span."""

import re

import pytest
from newer_releases import older


def test_the_example_prints_its_spans(output_of, database_url):
    """A literal is left out; the span of the query that sleeps in the pipeline is as long as that."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    output = output_of("psycopg_queries", DATABASE_URL=database_url)

    lines = [re.sub(r" +\d+ ms", "", " ".join(line.split())) for line in output.splitlines()]
    assert lines == [
        "CONNECT",
        "CREATE TABLE items CREATE TEMP TABLE items (id int PRIMARY KEY, name text)",
        "COPY items COPY items FROM STDIN",
        "BATCH INSERT items INSERT INTO items VALUES (%s, %s)",
        "BEGIN BEGIN",
        "SELECT items SELECT * FROM items WHERE id < %s",
        "SELECT items SELECT * FROM items WHERE id < %s",
        "COMMIT COMMIT",
        "UPDATE items UPDATE items SET name = ? WHERE id = ?",
        "SELECT SELECT pg_sleep(?)",
    ]
    if not older("psycopg", "3.2"):
        # Before that, it is as long as the method.
        assert int(re.search(r"(\d+) ms  SELECT pg_sleep", output)[1]) >= 50
