"""The example of docs/gevent.md prints a table; here with few users."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("simulacron")
def test_the_example_prints_its_table():
    """Each request is a span; in a pool, ours are in one trace."""
    pytest.importorskip("gevent")
    pytest.importorskip("opentelemetry.instrumentation.cassandra")
    result = subprocess.run(
        [sys.executable, "-m", "examples.gevent_cassandra", "--users", "30", "--pool", "10", "--latencies", "1", "20"],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    heading, names, *lines = result.stdout.splitlines()
    assert heading.startswith("30 users")
    assert names.split().count("OpenTelemetry") == 3
    assert [" ".join(line.split()[:5]).partition(" 0.")[0] for line in lines] == [
        "1 ms one by one",
        "1 ms in a pool",
        "20 ms one by one",
        "20 ms in a pool",
    ]
    assert [line.split()[-6:] for line in lines] == [
        ["30", "in", "1", "30", "in", "1"],
        ["30", "in", "30", "30", "in", "1"],
    ] * 2
    # The latency is there: one after the other, 30 requests take at least 30 times as long.
    assert all(float(seconds) >= 0.6 for seconds in lines[2].split()[5:8])
