"""Demands that what passes of asyncpg's own tests, those that run against one server, passes with asyncpg wrapped.

python tests/asyncpg_suite/run.py [test_execute.py ...]; exit status 1 where a test broke. A test that fails only with
us is run again by itself, without us too: some of asyncpg's depend on timing.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/upstream")]

from harness.released import sdist  # noqa: E402

from examples.demo.database import postgresql  # noqa: E402
from examples.demo.processes import Interrupts, running  # noqa: E402

FILES = (
    *("test_cache_invalidation.py", "test_cancellation.py", "test_codecs.py", "test_copy.py", "test_cursor.py"),
    *("test_exceptions.py", "test_execute.py", "test_introspection.py", "test_listeners.py", "test_logging.py"),
    *("test_pool.py", "test_prepare.py", "test_record.py", "test_timeout.py", "test_transaction.py", "test_types.py"),
)


def passed(folder: Path, tests: list[str], url: str, *, ours: bool) -> set[str]:
    """The tests that pass, with us or without."""
    place = urlsplit(url)
    server = {
        "PGHOST": place.hostname,
        "PGPORT": str(place.port),
        "PGUSER": place.username,
        "PGDATABASE": place.path[1:],
    }
    plugin = ["-p", "fastpath_plugin"] if ours else []
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-W", "ignore", "--rootdir", str(folder), *plugin]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=folder,
        env={**os.environ, **server, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"^PASSED (\S+)", done.stdout, re.MULTILINE))


def main(files: list[str]) -> int:
    """Run, compare, print."""
    tests = [f"tests/{name}" for name in files or FILES]
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), Interrupts()) as processes:
        Path(scratch).chmod(0o755)
        # Without the package beside it, which is not compiled.
        folder = Path(
            shutil.copytree(sdist("asyncpg", version("asyncpg")) / "tests", Path(scratch, "suite/tests"))
        ).parent
        url = postgresql(processes)
        bare = passed(folder, tests, url, ours=False)
        ours = passed(folder, tests, url, ours=True)
        broken = sorted(
            test
            for test in bare - ours
            if not passed(folder, [test], url, ours=True) and passed(folder, [test], url, ours=False)
        )
    print(f"asyncpg {version('asyncpg')}: {len(bare)} tests pass bare, {len(ours)} with us")
    for test in broken:
        print(f"broken: {test}")
    return int(bool(broken) or not bare)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
