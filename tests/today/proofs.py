"""The slow proofs, of which `make test-today` runs a slice each day: what each consists of, and how long that takes.

The items are read from the proofs themselves, so that a new one is in the schedule at once. The seconds are half of the
CPU seconds where a proof keeps two processors busy, else all of them, measured beside much other work, which makes them
longer; of what was not measured, they are estimates. `make test-today` prints the CPU seconds.
"""

from __future__ import annotations

import functools
import os
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS / name) for name in ("driver_suites", "memcheck", "upstream", "vendors")]
sys.path[:0] = [str(ROOT), str(TESTS)]

import run_asyncpg  # noqa: E402
import run_psycopg  # noqa: E402
import run_redis  # noqa: E402
import run_sqlalchemy  # noqa: E402
from harness.contrib import contrib_suites  # noqa: E402
from harness.suites import SUITES  # noqa: E402
from hotpaths.hosts import HOSTS  # noqa: E402
from hotpaths.paths import PATHS  # noqa: E402
from mariadb_servers import daemon  # noqa: E402
from vendor_checks.catalogue import vendors  # noqa: E402

from examples.gevent_cassandra.simulacron import MissingError, jar  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ASKING = 20.0


@dataclass(frozen=True, eq=False)
class Proof:
    """A slow proof.

    Attributes:
        name: Its target in the Makefile, with what tells it from others of this target.
        command: What runs the items that are added to it.
        items: The names of all of its items.
        seconds: How long an item takes, for those that `longer` does not name.
        longer: Item -> how long that one takes.
        start: How long the program takes beside its items.
        option: What stands in front of each item on the command line.
        environ: Variables of the environment.
        lacks: Gives what an item needs and this machine has not; empty if it can be run.
        unchecked: The exit status that says that nothing is wrong, and something could not be checked here.
    """

    name: str
    command: Sequence[str]
    items: Sequence[str]
    seconds: float
    longer: Mapping[str, float] = field(default_factory=dict)
    start: float = 0.0
    option: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    lacks: Callable[[str], str] = lambda _item: ""
    unchecked: int = os.EX_UNAVAILABLE

    def seconds_of(self, item: str) -> float:
        """How long an item takes."""
        return self.longer.get(item, self.seconds)

    def command_of(self, items: Sequence[str]) -> list[str]:
        """What runs these items."""
        return [*self.command, *(f"{self.option}{item}" for item in items)]


def _tool(name: str) -> Callable[[str], str]:
    return lambda _item: "" if shutil.which(name) else f"{name} is not installed"


def _server_of(workload: str) -> str:
    """What a workload of `make faults` needs and this machine has not."""
    if workload == "redis":
        return _tool("redis-server")(workload)
    if workload == "pymysql":
        return "" if daemon() else "mariadb-server is not installed"
    if workload == "cassandra":
        try:
            jar()
        except MissingError as error:
            return str(error).partition("\n")[0][:200]
    return ""


@functools.cache
def _psycopg_tests() -> str:
    command = [run_psycopg.GIT, "ls-remote", "--exit-code", run_psycopg.REPOSITORY, f"refs/tags/{version('psycopg')}"]
    try:
        subprocess.run(
            command, check=True, capture_output=True, timeout=_ASKING, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        )
    except (OSError, subprocess.SubprocessError):
        return "its repository cannot be reached, and a release has no tests"
    return ""


def _free_threaded(_item: str) -> str:
    found = runpy.run_path(str(TESTS / "free_threaded" / "provide.py"))["found"]()
    return "" if found else "no free-threaded Python is installed, and to build one takes ten minutes"


def _python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, str(TESTS / program), *arguments]


def _pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-m", "", *arguments]


# Of the longest workload, each part has every so many-th line. The compiled core has only its own modules' lines there.
_WORKLOADS = runpy.run_path(str(TESTS / "faults" / "run.py"))["NAMES"]
_PARTS = {"py": 24, "c": 8}
_LONGER = {
    "asgi-servers": 27.0,
    "asgi-servers-hooks": 29.0,
    "wsgi-servers": 26.0,
    "wsgi-servers-hooks": 26.0,
    "http-clients": 36.0,
    "http-clients-hooks": 36.0,
    "http-async-clients": 23.0,
    "http-async-clients-hooks": 23.0,
    "openai": 16.0,
    "openai-async": 19.0,
    "openai-streams": 20.0,
    "encoding": 17.0,
    "cassandra": 13.0,
    "fastapi-own": 12.0,
    "asyncpg-options": 11.0,
    "aws": 12.0,
    "grpc": 12.0,
    "kafka": 12.0,
    "rabbitmq": 12.0,
    "anthropic": 12.0,
}
_LOAD = "tests/http/real_servers/test_load.py::test_many_clients"
_STRESS = "tests/free_threaded/test_stress.py::test_nothing_is_lost"


def _faults(name: str, core: str, start: float) -> Proof:
    parts = [f"set-up:{part}/{_PARTS[core]}" for part in range(_PARTS[core])]
    return Proof(
        f"faults, {name}",
        _python("faults/run.py", "--core", core, "--workload"),
        [*parts, *(workload for workload in _WORKLOADS if workload != "set-up")],
        8,
        {**dict.fromkeys(parts, {"py": 14.0, "c": 12.0}[core]), **_LONGER},
        start=start,
        lacks=_server_of,
    )


# How long it takes to import a library and go through its host under valgrind.
_UNDER_VALGRIND = {
    **dict.fromkeys(("asyncpg", "celery", "psycopg", "psycopg2", "redis", "sqlalchemy", "sqlite3"), 42),
    "http-clients": 60,
    "wsgi-servers": 60,
}


def _memcheck(name: str, items: Sequence[str], seconds: float, start: float = 0.0) -> Proof:
    return Proof(
        name,
        _python("memcheck/run.py", "--only"),
        items,
        seconds,
        start=start,
        lacks=lambda item: _tool("valgrind")(item) or _server_of(item),
    )


# The folders with tests that run on both cores.
_ON_BOTH = ("db", "equivalence", "genai", "http", "logs", "metrics", "otlp", "trace", "wrapping")

PROOFS = (
    # Each case of these is on one core in `make test`.
    Proof(
        "test-slow, the other core",
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "other_core"],
        tuple(f"tests/{folder}" for folder in _ON_BOTH),
        10,
        {"tests/db": 50.0, "tests/http": 35.0},
        start=4,
    ),
    _faults("pure core", "py", 5),
    # It is compiled anew, so that each of its lines can fail.
    _faults("compiled core", "c", 60),
    _memcheck("memcheck, paths", tuple(PATHS), 2, start=45),
    # Each imports its library under valgrind, in a process of its own.
    *(_memcheck(f"memcheck, {host}", (host,), _UNDER_VALGRIND.get(host, 46)) for host in HOSTS),
    Proof(
        "upstream",
        _python("upstream/run.py"),
        [suite.name for suite in SUITES],
        25,
        {"sdk": 100.0, "otlp-grpc": 60.0},
        start=25,
        option="--suite=",
    ),
    # Each has an environment of its own.
    Proof(
        "upstream, contrib",
        _python("upstream/run.py", "--contrib"),
        [suite.name for suite in contrib_suites()],
        4.5,
        {
            "aws-lambda": 2.0,
            "botocore": 50.0,
            "celery": 12.0,
            "genai-openai": 12.0,
            "openai-v2": 10.0,
            "fastapi": 10.0,
            "grpc": 12.0,
        },
        start=5,
        option="--suite=",
    ),
    Proof("suite/asyncpg", _python("driver_suites/run_asyncpg.py"), run_asyncpg.FILES, 6, start=10),
    Proof(
        "suite/psycopg",
        _python("driver_suites/run_psycopg.py"),
        run_psycopg.FILES,
        5,
        start=15,
        lacks=lambda _item: _psycopg_tests(),
    ),
    Proof(
        "suite/sqlalchemy",
        _python("driver_suites/run_sqlalchemy.py"),
        tuple(run_sqlalchemy.DRIVERS),
        70,
        start=10,
        option="--driver=",
    ),
    Proof(
        "suite/redis",
        _python("driver_suites/run_redis.py"),
        run_redis.FILES,
        4,
        start=15,
        lacks=_tool("redis-server"),
    ),
    # What is gained is only printed: `make vendors` measures it.
    Proof(
        "vendors",
        _python("vendors/run.py", "--no-gain", "--jobs=2"),
        [vendor.name for vendor in vendors()],
        6,
        start=5,
        option="--only=",
        # `make vendors` takes the newest releases. Here, one of tomorrow would break what has nothing to do with it.
        environ={"UV_EXCLUDE_NEWER": "2026-11-26T00:00:00Z"},
        # The stock run of a release may fail.
        unchecked=2,
    ),
    Proof(
        "soak/http",
        _pytest(),
        [f"{_LOAD}[{server}-{core}]" for server in ("asgi", "wsgi", "aiohttp") for core in ("py", "c")],
        12,
        start=3,
    ),
    Proof(
        "free-threaded/stress, with the lock",
        _pytest(),
        [f"{_STRESS}[{core}]" for core in ("py", "c")],
        12,
        start=3,
        environ={"OTEL_FASTPATH_STRESS_SECONDS": "10"},
    ),
    Proof(
        "free-threaded/stress",
        ["make", "free-threaded/stress"],
        ("SECONDS=10",),
        130,
        lacks=_free_threaded,
    ),
    # The Collector is built, which takes three minutes.
    Proof(
        "collector-test",
        _python("collector/run.py", "--seconds=4"),
        ("http/protobuf", "grpc"),
        60,
        start=180,
        option="--protocol=",
        lacks=_tool("go"),
    ),
)
