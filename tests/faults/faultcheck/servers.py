"""The servers that workloads need, each started for those that are run."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from faultcheck.places import REPOSITORY, FaultsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# How the names of the workloads begin that need a server.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "postgresql": ("asyncpg", "psycopg"),
    "redis": ("redis",),
    "mariadb": ("pymysql",),
    "cassandra": ("cassandra",),
}


@contextlib.contextmanager
def servers(workloads: Sequence[str]) -> Iterator[dict[str, str]]:
    """Name of a server -> its URL or port; only of those that are needed, and that can be started.

    Raises:
        FaultsError: PostgreSQL is needed, and there is no server to be had.
    """
    sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]
    found: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        for name, beginnings in _NEEDED.items():
            if any(workload.startswith(beginnings) for workload in workloads):
                place = _STARTS[name](stack, folder)
                if place:
                    found[name] = place
        yield found


def possible(workloads: Sequence[str], found: Mapping[str, str]) -> list[str]:
    """The workloads whose servers there are; the others are named on stderr."""
    missing = tuple(start for name, starts in _NEEDED.items() if name not in found for start in starts)
    for workload in workloads:
        if workload.startswith(missing):
            print(f"not run, as its server is not installed: {workload}", file=sys.stderr)  # noqa: T201
    return [workload for workload in workloads if not workload.startswith(missing)]


def _postgresql(stack: contextlib.ExitStack, folder: Path) -> str:
    """That of DATABASE_URL, or one of our own."""
    if os.environ.get("DATABASE_URL"):
        return os.environ["DATABASE_URL"]
    try:
        from examples.demo.database import postgresql
        from examples.demo.processes import Interrupts, running
    except ImportError as error:
        raise FaultsError(
            f"asyncpg and psycopg need a PostgreSQL: set DATABASE_URL, or run `make setup` ({error})"
        ) from None
    return postgresql(stack.enter_context(running(folder, Interrupts())))


def _redis(stack: contextlib.ExitStack, folder: Path) -> str:
    from redis_servers import Server

    if shutil.which("redis-server") is None:
        return ""
    server = Server(folder)
    stack.callback(server.stop)
    return str(server.port)


def _mariadb(stack: contextlib.ExitStack, folder: Path) -> str:
    from mariadb_servers import Server, daemon

    if daemon() is None:
        return ""
    server = Server(folder)
    stack.callback(server.stop)
    return str(server.port)


def _cassandra(stack: contextlib.ExitStack, folder: Path) -> str:
    from examples.gevent_cassandra.simulacron import MissingError, Simulacron

    try:
        simulacron = Simulacron(folder)
    except MissingError:
        return ""
    stack.callback(simulacron.stop)
    cluster = simulacron.cluster()
    cluster.answer("SELECT a FROM t", rows=[{"a": 1}, {"a": 2}], types={"a": "int"})
    cluster.answer("SELECT gone", error=("syntax_error", {"message": "gone"}))
    cluster.answer("SELECT slow", delay=600)
    cluster.answer("SELECT a FROM t WHERE a = ?", rows=[{"a": 1}], types={"a": "int"}, parameters={"a": "int"})
    return str(cluster.ports[0])


_STARTS = {"postgresql": _postgresql, "redis": _redis, "mariadb": _mariadb, "cassandra": _cassandra}
