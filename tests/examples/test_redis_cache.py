"""The example of docs/redis.md prints a line for each span."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_prints_its_spans(start_redis):
    """No argument is in a text; the lock's first release finds its script missing, which is no error."""
    pytest.importorskip("redis", reason="redis is not installed")
    result = subprocess.run(
        [sys.executable, "-m", "examples.redis_cache"],
        cwd=ROOT,
        env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{start_redis().port}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "SET SET ? ? ? ?",
        "GET GET ?",
        "PIPELINE GET GET ?",
        "MULTI INCRBY ? ?; EXPIRE ? ?",
        "SET SET ? ? ? ? ?",
        f"MSET MSET{' ?' * 16} ...",
        "EVALSHA EVALSHA ? ? ? ?",
        "SCRIPT LOAD SCRIPT LOAD ?",
        "EVALSHA EVALSHA ? ? ? ?",
        "CONFIG SET CONFIG SET ? ?",
        "LPUSH WRONGTYPE LPUSH ? ?",
        "DEL DEL ?",
    ]
