"""The example of docs/slow-queries.md prints the attributes that the page describes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_the_attributes():
    """Of the slow query, and of the request with the query that was repeated."""
    result = subprocess.run(
        [sys.executable, "-m", "examples.slow_queries"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout in (ROOT / "docs" / "slow-queries.md").read_text(encoding="utf-8")
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "SELECT orders otel_fastpath.db.slow = True",
        "SELECT orders db.query.parameter.seconds = 0.3",
        "GET /orders otel_fastpath.db.repeated.count = 12",
        "GET /orders otel_fastpath.db.repeated.summary = SELECT customers",
    ]
