"""Demands that what passes of psycopg's own tests passes with psycopg wrapped.

python tests/driver_suites/run_psycopg.py [--source FOLDER] [test_cursor.py ...]; exit status 1 where a test
broke, or where an error of our code was absorbed. The tests are those of the release's tag in psycopg's repository, or
of a clone that is named.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from comparison import Suite, compare, status_of
from harness.paths import downloaded

from examples.demo.database import postgresql
from examples.demo.processes import Interrupts, running

GIT = shutil.which("git") or "git"
REPOSITORY = "https://github.com/psycopg/psycopg.git"
FILES = (
    *("test_connection.py", "test_connection_async.py", "test_copy.py", "test_copy_async.py", "test_cursor.py"),
    *("test_cursor_async.py", "test_cursor_client.py", "test_cursor_common.py", "test_cursor_common_async.py"),
    *("test_cursor_raw.py", "test_cursor_server.py", "test_cursor_server_async.py", "test_notify.py"),
    *("test_pipeline.py", "test_pipeline_async.py", "test_prepared.py", "test_prepared_async.py"),
    *("test_psycopg_dbapi20.py", "test_sql.py", "test_tpc.py", "test_transaction.py", "test_transaction_async.py"),
    *("test_typeinfo.py", "pool"),
)
SETTINGS = {"OTEL_FASTPATH_PSYCOPG": "on", "OTEL_FASTPATH_PSYCOPG_OPTIONS": "acquire,check,parameters,rows"}


def unpacked(source: str | None, tag: str, folder: Path) -> Path:
    """A folder with psycopg's tests."""
    if source is None:
        source = str(folder / "clone")
        downloaded([GIT, "clone", "--quiet", "--depth=1", f"--branch={tag}", REPOSITORY, source])
    archive = folder / "tests.tar"
    subprocess.run([GIT, "-C", source, "archive", f"--output={archive}", tag, "tests"], check=True)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", help="a clone of psycopg's repository, or its git directory")
    parser.add_argument("--tag", default=version("psycopg"), help="the release whose tests are run")
    parser.add_argument("files", nargs="*", default=FILES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), Interrupts()) as processes:
        folder = unpacked(arguments.source, arguments.tag, Path(scratch))
        options = [f"--test-dsn={postgresql(processes)}", "-m", "not slow", "-o", "asyncio_mode=auto"]
        suite = Suite(folder, [f"tests/{name}" for name in arguments.files], SETTINGS, options)
        return compare(f"psycopg {version('psycopg')}, tests of {arguments.tag}", suite)


if __name__ == "__main__":
    sys.exit(status_of(main))
