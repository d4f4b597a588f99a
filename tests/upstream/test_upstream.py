"""Stock's own suites pass under us, on the core of this environment and on the pure one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
# Some of contrib's suites, with and without differences; `make upstream ARGS=--contrib` runs all of them.
CONTRIB = ("asgi", "asyncpg", "django", "fastapi", "logging", "redis")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "arguments",
    [(), ("--contrib", *(option for name in CONTRIB for option in ("--suite", name)))],
    ids=["core", "contrib"],
)
def test_whatever_passes_stock_passes_under_us(arguments):
    """No test of stock's that passes stock fails, is skipped or vanishes with the patches applied."""
    done = subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False)

    print(done.stdout)  # noqa: T201  # the table, which pytest shows where the test fails or with -s
    assert done.returncode == 0, done.stderr
