"""The example of SQLAlchemy prints its spans."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_its_spans():
    """One line for each: a batch for a flush, no checkout, a literal left out."""
    result = subprocess.run(
        [sys.executable, "-m", "examples.sqlalchemy_orders"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines == [
        "CONNECT",
        "CREATE TABLE orders CREATE TABLE orders ( id INTEGER NOT NULL, item VARCHAR NOT NULL, PRIMARY KEY (id) )",
        "COMMIT",
        "BATCH INSERT orders INSERT INTO orders (item) VALUES (?) RETURNING id",
        "COMMIT",
        "SELECT orders SELECT orders.id, orders.item FROM orders WHERE orders.item IN (?, ?)",
        "SELECT orders SELECT id FROM orders WHERE item = ?",
        "ROLLBACK",
        "CONNECT",
        "SELECT SELECT ?",
        "ROLLBACK",
    ]
