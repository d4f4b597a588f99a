"""Demands that what passes of SQLAlchemy's own tests of engines and dialects passes with it and its driver wrapped.

python tests/driver_suites/run_sqlalchemy.py [--driver sqlite] [test/engine/test_pool.py ...]; exit status 1 where a
test broke, or where an error of our code was absorbed.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import asyncpg
import sqlalchemy
from comparison import Suite, compare, status_of
from harness.released import sdist

from examples.demo.database import postgresql
from examples.demo.processes import Interrupts, Processes, running

if TYPE_CHECKING:
    from collections.abc import Sequence

# Those of the compilers connect to no database.
COMMON = (
    *("test/engine/test_ddlevents.py", "test/engine/test_execute.py", "test/engine/test_logging.py"),
    *("test/engine/test_pool.py", "test/engine/test_reconnect.py", "test/engine/test_transaction.py"),
    "test/dialect/test_suite.py",
)
SQLITE = ("test/dialect/sqlite/test_dialect.py", "test/dialect/sqlite/test_on_conflict.py")
POSTGRESQL = (
    *("test/dialect/postgresql/test_async_pg.py", "test/dialect/postgresql/test_dialect.py"),
    *("test/dialect/postgresql/test_on_conflict.py", "test/dialect/postgresql/test_query.py"),
)
ASYNC = ("test/ext/asyncio",)
# What a failed test left behind is dropped before the next run.
ON_POSTGRESQL = ("--dropfirst", "-p", "no_extensions")

# SQLAlchemy counts frames to find the function that a record of its log is of: it finds ours around it.
_FRAMES = "docs/sqlalchemy.md: records of SQLAlchemy's log name our wrapper as their function"
KNOWN = dict.fromkeys(
    ("test_log_messages_have_correct_metadata_echo", "test_log_messages_have_correct_metadata_plain"), _FRAMES
)


class Driver(NamedTuple):
    """A driver below SQLAlchemy.

    Attributes:
        name: Its dialect.
        ours: The name of our wrapper of it.
        files: The tests of the dialect, besides those of all.
        options: Further options of pytest.
    """

    name: str
    ours: str
    files: Sequence[str]
    options: Sequence[str] = ()


DRIVERS = {
    "sqlite": Driver("sqlite", "SQLITE3", SQLITE),
    "aiosqlite": Driver("sqlite+aiosqlite", "SQLITE3", (*SQLITE, *ASYNC)),
    "psycopg": Driver("postgresql+psycopg", "PSYCOPG", POSTGRESQL, ON_POSTGRESQL),
    "asyncpg": Driver("postgresql+asyncpg", "ASYNCPG", (*POSTGRESQL, *ASYNC), ON_POSTGRESQL),
}


async def _create(url: str, name: str) -> None:
    """A database with the schemas that the tests expect."""
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {name} ENCODING 'utf8' TEMPLATE template0")
    await connection.close()
    connection = await asyncpg.connect(url, database=name)
    await connection.execute("CREATE SCHEMA test_schema; CREATE SCHEMA test_schema_2")
    await connection.close()


def _place(driver: Driver, processes: Processes, servers: list[str]) -> str:
    """The URL of a database for the tests of a driver; those of PostgreSQL share a server."""
    if driver.name.startswith("sqlite"):
        return f"{driver.name}:///:memory:"
    if not servers:
        servers.append(postgresql(processes))
    name = f"test_{driver.ours.lower()}"
    asyncio.run(_create(servers[0], name))
    return f"{driver.name}://{servers[0].partition('://')[2].rpartition('/')[0]}/{name}"


def _unpacked(folder: Path) -> Path:
    """The tests. They load one file of the package from beside them: that is the installed one."""
    source = sdist("sqlalchemy", version("sqlalchemy"))
    shutil.copytree(source / "test", folder / "test")
    for name in ("setup.cfg", "pyproject.toml"):
        shutil.copy(source / name, folder)
    (folder / "lib").mkdir()
    (folder / "lib/sqlalchemy").symlink_to(Path(sqlalchemy.__file__).parent)
    return folder


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", action="append", choices=DRIVERS, help="all, unless said")
    parser.add_argument("files", nargs="*", help="tests, instead of those of engines and of the driver's dialect")
    arguments = parser.parse_args()
    worst, servers = 0, []
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), Interrupts()) as processes:
        Path(scratch).chmod(0o755)
        folder = Path(scratch, "suite")
        folder.mkdir()
        _unpacked(folder)
        for name in arguments.driver or DRIVERS:
            driver = DRIVERS[name]
            suite = Suite(
                folder,
                arguments.files or [*COMMON, *driver.files],
                {"OTEL_FASTPATH_SQLALCHEMY": "on", f"OTEL_FASTPATH_{driver.ours}": "on"},
                ["--dburi", _place(driver, processes, servers), *driver.options],
                known=KNOWN,
                python=["-s"],  # else the tests put the package beside them before the installed one
            )
            worst |= compare(f"SQLAlchemy {version('sqlalchemy')} on {name}", suite)
    return worst


if __name__ == "__main__":
    sys.exit(status_of(main))
