"""The example of docs/databases.md prints a line for each span."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_prints_its_spans(database_url):
    """A literal is left out; three pages of values are one operation."""
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    result = subprocess.run(
        [sys.executable, "-m", "examples.psycopg2_queries"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
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
