"""The example of docs/databases.md prints a line for each span."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_prints_its_spans(database_url):
    """A literal is left out; the span of the query that sleeps in the pipeline is as long as that."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    result = subprocess.run(
        [sys.executable, "-m", "examples.psycopg_queries"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    lines = [re.sub(r" +\d+ ms", "", " ".join(line.split())) for line in result.stdout.splitlines()]
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
    assert int(re.search(r"(\d+) ms  SELECT pg_sleep", result.stdout)[1]) >= 50
