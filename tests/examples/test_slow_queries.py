"""The example of docs/slow-queries.md prints the attributes that the page describes."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_the_attributes(output_of):
    """Of the slow query, and of the request with the query that was repeated."""
    output = output_of("slow_queries")

    assert output in (ROOT / "docs" / "slow-queries.md").read_text(encoding="utf-8")
    assert [" ".join(line.split()) for line in output.splitlines()] == [
        "SELECT orders otel_fastpath.db.slow = True",
        "SELECT orders db.query.parameter.seconds = 0.3",
        "GET /orders otel_fastpath.db.repeated.count = 12",
        "GET /orders otel_fastpath.db.repeated.summary = SELECT customers",
    ]
