"""Demands that what passes of redis-py's own tests passes with redis-py wrapped.

python tests/driver_suites/run_redis.py [test_pipeline.py ...]; exit status 1 where a test broke, or where an error of
our code was absorbed. Tests of modules of the server, of TLS, and of a cluster of several nodes are left out.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from comparison import ROOT, Suite, compare, status_of
from harness.paths import downloaded, tool
from harness.released import sdist

from examples.demo.database import redis
from examples.demo.processes import Interrupts, running

BOTH = (
    *("test_client.py", "test_command_parser.py", "test_commands.py", "test_connect.py", "test_connection.py"),
    *("test_connection_pool.py", "test_encoding.py", "test_hash.py", "test_keyspace_notifications.py", "test_lock.py"),
    *("test_monitor.py", "test_observability", "test_pipeline.py", "test_pubsub.py", "test_retry.py"),
    *("test_scripting.py", "test_cluster.py", "test_cluster_transaction.py", "test_sentinel.py"),
)
FILES = (
    *(*BOTH, *(f"test_asyncio/{name}" for name in BOTH)),
    *("test_cache.py", "test_function.py", "test_multiprocessing.py", "test_asyncio/test_cwe_404.py"),
)
LEFT_OUT = "not redismod and not ssl and not onlycluster and not replica and not cp_integration"
SETTINGS = {"OTEL_FASTPATH_REDIS": "on", "OTEL_FASTPATH_REDIS_OPTIONS": "parameters"}
# What its tests import besides, of which this project needs nothing else.
PACKAGES = ("pytest-asyncio", "numpy", "pybreaker")
INSTALLED = ROOT / ".cache/redis-suite"


def packages() -> Path:
    """The folder with what the tests import besides."""
    if not INSTALLED.exists():
        command = [tool("uv"), "pip", "install", "--no-config", "--quiet", "--python", sys.executable, "--no-deps"]
        downloaded([*command, "--target", str(INSTALLED), *PACKAGES])
    return INSTALLED


def main(files: list[str]) -> int:
    """Run, compare, print."""
    release = version("redis")
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), Interrupts()) as processes:
        url = redis(processes)
        if url is None:
            print("no redis-server is installed: apt-get install redis-server", file=sys.stderr)  # noqa: T201
            return 2
        folder = Path(scratch, "suite")
        source = sdist("redis", release)
        # Without the package beside them.
        shutil.copytree(source / "tests", folder / "tests")
        shutil.copy(source / "pyproject.toml", folder)
        present = [f"tests/{name}" for name in files or FILES if (folder / "tests" / name).exists()]
        path = os.pathsep.join([str(folder), str(packages())])
        options = [f"--redis-url={url}/0", "-m", LEFT_OUT, "--ignore-glob=*/test_scenario/*"]
        return compare(f"redis-py {release}", Suite(folder, present, SETTINGS, options, environ={"PYTHONPATH": path}))


if __name__ == "__main__":
    sys.exit(status_of(main, sys.argv[1:]))
