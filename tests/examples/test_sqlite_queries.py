"""The example of docs/databases.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of):
    """A literal is left out; the spans of a task have its span as their parent."""
    pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
    output = output_of("sqlite_queries")

    assert [" ".join(line.split()) for line in output.splitlines()] == [
        "CONNECT -",
        "CREATE TABLE items - CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)",
        "BATCH INSERT items - INSERT INTO items VALUES (?, ?)",
        "UPDATE items - UPDATE items SET name = ? WHERE id = ?",
        "COMMIT - COMMIT",
        "CONNECT request",
        "SELECT request SELECT ?",
        "request -",
    ]
