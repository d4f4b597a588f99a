"""The example of docs/databases.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of, database_url):
    """A literal is left out; three pages of values are one operation."""
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    output = output_of("psycopg2_queries", DATABASE_URL=database_url)

    assert [" ".join(line.split()) for line in output.splitlines()] == [
        "CONNECT",
        "CREATE TABLE items CREATE TEMP TABLE items (id int PRIMARY KEY, name text)",
        'COPY "items" COPY "items" FROM STDIN',
        "BATCH INSERT items INSERT INTO items VALUES %s",
        "UPDATE items UPDATE items SET name = ? WHERE id = ?",
        "COMMIT COMMIT",
        "SELECT items SELECT * FROM items WHERE id < %s",
        "SELECT items SELECT * FROM items WHERE id < %s",
        "COMMIT COMMIT",
    ]
