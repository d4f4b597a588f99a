"""Demands that what passes of psycopg's own tests passes with psycopg wrapped.

python tests/psycopg_suite/run.py [--source FOLDER] [test_cursor.py ...]; exit status 1 where a test broke, or where an
error of our code was absorbed. A test that fails only with us is run again by itself, without us too: some of psycopg's
depend on timing. The tests are those of the release's tag in psycopg's repository, or of a clone that is named.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/upstream")]

from examples.demo.database import postgresql  # noqa: E402
from examples.demo.processes import Interrupts, running  # noqa: E402

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


def unpacked(source: str | None, tag: str, folder: Path) -> Path:
    """A folder with psycopg's tests."""
    if source is None:
        source = str(folder / "clone")
        subprocess.run([GIT, "clone", "--quiet", "--depth=1", f"--branch={tag}", REPOSITORY, source], check=True)
    archive = folder / "tests.tar"
    subprocess.run([GIT, "-C", source, "archive", f"--output={archive}", tag, "tests"], check=True)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder


def passed(folder: Path, tests: list[str], url: str, *, ours: bool) -> tuple[set[str], list[str]]:
    """The tests that pass, with us or without, and the errors of our code that were absorbed."""
    plugin = ["-p", "fastpath_plugin"] if ours else []
    options = ["-q", "-rA", "-W", "ignore", "--rootdir", str(folder), f"--test-dsn={url}", "-m", "not slow"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-o", "addopts=", "-o", "asyncio_mode=auto", *options, *plugin, *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = set(re.findall(r"^PASSED (.+)$", done.stdout, re.MULTILINE))
    if not found:
        print(done.stdout[-3000:], done.stderr[-3000:])
    return found, re.findall(r"^fault: (.+)$", done.stdout, re.MULTILINE)


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", help="a clone of psycopg's repository, or its git directory")
    parser.add_argument("--tag", default=version("psycopg"), help="the release whose tests are run")
    parser.add_argument("files", nargs="*", default=FILES)
    arguments = parser.parse_args()
    tests = [f"tests/{name}" for name in arguments.files]
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), Interrupts()) as processes:
        folder = unpacked(arguments.source, arguments.tag, Path(scratch))
        url = postgresql(processes)
        bare, _ = passed(folder, tests, url, ours=False)
        ours, faults = passed(folder, tests, url, ours=True)
        broken = sorted(
            test
            for test in bare - ours
            if test not in passed(folder, [test], url, ours=True)[0]
            and test in passed(folder, [test], url, ours=False)[0]
        )
    print(f"psycopg {version('psycopg')}, tests of {arguments.tag}: {len(bare)} pass bare, {len(ours)} with us")
    for test in broken:
        print(f"broken: {test}")
    for fault in faults:
        print(f"an error of ours: {fault}")
    return int(bool(broken or faults) or not bare)


if __name__ == "__main__":
    sys.exit(main())
