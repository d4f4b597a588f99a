"""The example counts what its service does, exactly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")
pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("releases_of_the_examples")
def test_the_table_of_a_running_service():
    """Each kind of failure is in the table once per request that had it, with its place; and so say the spans."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.exceptions", "--rounds", "1", "--requests", "90"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line]
    types = {
        line[2]: (int(line[0]), int(line[1]))
        for line in lines
        if len(line) == 3 and line[0].isdigit() and line[1].isdigit()
    }
    assert types == {
        "KeyError": (10, 10),
        "TimeoutError": (10, 10),
        "ValueError": (10, 10),
        "examples.exceptions.service.OutOfStockError": (10, 10),
        "fastapi.exceptions.HTTPException": (10, 10),
        "json.decoder.JSONDecodeError": (10, 10),
    }
    functions = {line[1].rstrip(",") for line in lines if len(line) == 3 and "service.py" in line[2]}
    assert functions == {"item", "price", "order", "slow", "body"}
    spans = {" ".join(line[1:]): float(line[0]) for line in lines if line[1:2] == ["GET"]}
    assert spans == {
        "GET /body": 1,
        "GET /exceptions": 0,
        "GET /items/{number}": 0.67,
        "GET /order/{number}": 0.5,
        "GET /price": 0.5,
        "GET /slow": 1,
    }
