"""The example of a driver that has no instrumentation of its own."""

from __future__ import annotations


def test_the_example_prints_each_query(output_of):
    """Its name and its attributes."""
    output = output_of("other_driver_queries")

    assert "total: 29.5" in output
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["CREATE", "INSERT", "SELECT"]
    assert "'db.statement': 'SELECT sum(total) FROM orders'" in output
