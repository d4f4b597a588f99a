"""`otel-fastpath bench --url`: a real service, measured without telemetry, with stock OpenTelemetry and with us."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from examples.demo.processes import free_port
from otel_fastpath.trial import cpu

APP = """
from fastapi import FastAPI

app = FastAPI()

@app.get("/orders/{number}")
async def order(number: int):
    return {"number": number}
"""
pytestmark = pytest.mark.skipif(bool(cpu.why_not()), reason=cpu.why_not() or "it runs here")


def run(*arguments, cwd=None):
    """The finished command."""
    return subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "bench", *arguments],
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if not key.startswith("OTEL")},
    )


def test_a_service_is_measured_in_three_ways(tmp_path):
    """Requests are answered in each way, and the service's CPU time is told from ours."""
    pytest.importorskip("uvicorn")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}/orders/3"
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--no-access-log"]

    done = run("--url", url, "--rounds", "1", "--seconds", "1", "--json", "report.json", *command, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    ways = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["ways"]
    assert list(ways) == ["bare", "stock", "fastpath"]
    for way, [turn] in ways.items():
        assert turn["failed"] == 0, way
        assert turn["rate"] > 0, way
        assert 10 < turn["microseconds"] < 1e6 / turn["rate"] * os.cpu_count(), way
    # Stock OpenTelemetry more than doubles the CPU time of such a request.
    assert ways["stock"][0]["microseconds"] > 1.2 * ways["bare"][0]["microseconds"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--url", "localhost"), 2, "--url localhost: expected a URL such as http://127.0.0.1:8000/orders"),
        (("--url", "http://localhost"), 2, "--url: expected the command that starts the service"),
        (("--url", "http://localhost", "--clients", "0", "true"), 2, "--clients and --seconds: expected"),
        (("uvicorn", "app:app"), 2, "uvicorn app:app: expected --url, too"),
        (("--url", "http://127.0.0.1:1", "false"), 4, "bench: the program ended with exit status 1 before it was"),
    ],
)
def test_what_cannot_be_measured(arguments, status, message):
    """One line that names the value."""
    done = run(*arguments)

    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
