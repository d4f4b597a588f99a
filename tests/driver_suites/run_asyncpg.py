"""Demands that what passes of asyncpg's own tests, those that run against one server, passes with asyncpg wrapped.

python tests/driver_suites/run_asyncpg.py [test_execute.py ...]; exit status 1 where a test broke, or where an error of
our code was absorbed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from comparison import Suite, compare, status_of
from harness.released import sdist

from examples.demo.database import postgresql
from examples.demo.processes import Interrupts, running

FILES = (
    *("test_cache_invalidation.py", "test_cancellation.py", "test_codecs.py", "test_copy.py", "test_cursor.py"),
    *("test_exceptions.py", "test_execute.py", "test_introspection.py", "test_listeners.py", "test_logging.py"),
    *("test_pool.py", "test_prepare.py", "test_record.py", "test_timeout.py", "test_transaction.py", "test_types.py"),
)
SETTINGS = {"OTEL_FASTPATH_ASYNCPG": "on", "OTEL_FASTPATH_ASYNCPG_OPTIONS": "acquire,parameters,rows"}


def server(url: str) -> dict[str, str]:
    """A server, as the tests are told of it."""
    place = urlsplit(url)
    return {
        "PGHOST": str(place.hostname),
        "PGPORT": str(place.port),
        "PGUSER": str(place.username),
        "PGDATABASE": place.path[1:],
    }


def main(files: list[str]) -> int:
    """Run, compare, print."""
    release = version("asyncpg")
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), Interrupts()) as processes:
        Path(scratch).chmod(0o755)
        # Without the package beside it, which is not compiled.
        shutil.copytree(sdist("asyncpg", release) / "tests", Path(scratch, "suite/tests"))
        tests = [f"tests/{name}" for name in files or FILES]
        suite = Suite(Path(scratch, "suite"), tests, SETTINGS, environ=server(postgresql(processes)))
        return compare(f"asyncpg {release}", suite)


if __name__ == "__main__":
    sys.exit(status_of(main, sys.argv[1:]))
