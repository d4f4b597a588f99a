"""Time limits of task queues end tasks that use instrumented libraries, on real workers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faultcheck.places import CACHE, REPOSITORY

TASKS = Path(__file__).with_name("time_limits.py")
TIMES = 5
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="their workers fork"),
]


@pytest.fixture(scope="module")
def python():
    """The interpreter of an environment with Celery, RQ and this package, which is kept."""
    folder = CACHE / f"time-limits-{sys.version_info[0]}.{sys.version_info[1]}"
    uv = REPOSITORY / ".tools" / "bin" / "uv"
    made = folder / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UV_PROJECT")}
    if not made.exists():
        subprocess.run([uv, "--quiet", "venv", "--no-project", "--python", sys.executable, folder], check=True)
    packages = ("celery>=5.5", "rq>=2", "opentelemetry-sdk", "opentelemetry-instrumentation-sqlite3", REPOSITORY)
    subprocess.run(
        [uv, "--quiet", "pip", "install", "--no-config", "--python", made, *packages], check=True, env=environment
    )
    return made


@pytest.mark.parametrize("core", ["c", "py"])
@pytest.mark.parametrize("queue", ["celery", "rq"])
def test_a_limit_ends_the_task(python, tmp_path, queue, core):
    """Each time, in whatever line of the queries or their telemetry it arrives."""
    if queue == "rq" and shutil.which("redis-server") is None:
        pytest.skip("no redis-server is installed: apt-get install redis-server")
    done = subprocess.run(
        [python, TASKS, queue, core, str(tmp_path), str(TIMES)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == ["the limit"] * TIMES, done.stderr[-4000:]
