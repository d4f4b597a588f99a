"""The example of docs/databases.md prints a line for each span."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_prints_its_spans():
    """A literal is left out; the spans of a task have its span as their parent."""
    pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
    result = subprocess.run(
        [sys.executable, "-m", "examples.sqlite_queries"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "CONNECT -",
        "CREATE TABLE items - CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)",
        "BATCH INSERT items - INSERT INTO items VALUES (?, ?)",
        "UPDATE items - UPDATE items SET name = ? WHERE id = ?",
        "COMMIT - COMMIT",
        "CONNECT request",
        "SELECT request SELECT ?",
        "request -",
    ]
