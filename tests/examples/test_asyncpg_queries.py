"""The example of asyncpg prints what docs/asyncpg.md says."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_its_spans(database_url):
    """One line for each: a cursor's for each round trip, a literal left out, no reset of the pool."""
    result = subprocess.run(
        [sys.executable, "-m", "examples.asyncpg_queries"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines == [
        "CONNECT",
        "CREATE TABLE items CREATE TEMP TABLE items (id int PRIMARY KEY, name text)",
        "BATCH INSERT items INSERT INTO items VALUES ($1, $2)",
        "BEGIN BEGIN;",
        "SELECT items SELECT * FROM items ORDER BY id",
        "SELECT items SELECT * FROM items ORDER BY id",
        "COMMIT COMMIT;",
        "SELECT items SELECT name FROM items WHERE name = ?",
    ]
