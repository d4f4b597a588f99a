"""Runs programs as services are run: without this package, and with it in each of the ways that it can start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from at_exit import without_stocks_lines
from disabled_instrumentations import all_but
from start_ways import WAYS, command


@pytest.fixture
def used():
    """The instrumentations that the programs use."""
    return {"fastapi", "flask", "fastpath", "httpx", "requests", "starlette", "urllib3"}


@pytest.fixture
def environment(environ, used):
    """Returns the variables of a way of starting; only the instrumentations that the programs use are on."""
    for name in [name for name in os.environ if name.startswith("OTEL_") and "START_LINE" not in name]:
        environ.delenv(name)

    def make(way="lazy", **variables):
        variables = {**WAYS[way][1], **variables}
        without = variables.pop("without", "")
        return {
            **os.environ,
            # One about forks has the process id in it.
            "PYTHONWARNINGS": "ignore",
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            # On a busy machine the exporter's thread would print into the program's line.
            "OTEL_BSP_SCHEDULE_DELAY": "60000",
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": all_but(*used - {without}),
            **variables,
        }

    return make


@pytest.fixture
def start(environment, tmp_path):
    """Runs a command in a way of starting, in the folder of the test; returns the finished process."""

    def run(way, *words, check=True, **variables):
        result = subprocess.run(
            command(way, *words),
            env=environment(way, **variables),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=check,
            timeout=120,
        )
        result.stderr = without_stocks_lines(result.stderr)
        return result

    return run
