"""Runs the hot paths under valgrind's memcheck, with the package and without it, and tells whose the losses are."""
# ruff: noqa: T201  # part of a program that prints

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
OURS: Final = re.compile(r"otel_fastpath/[\w/]+\.cpython")
_SUPPRESSIONS: Final = HERE / "python.supp"
_PREFIX: Final = re.compile(r"^(==\d+==|\*\*\d+\*\*) ?")


class MissingToolError(Exception):
    """What a check needs is not there; the message says what."""


class DiedError(Exception):
    """A process did not go through its paths; the message says why."""


@dataclass
class Losses:
    """What memcheck says of one hot path.

    Attributes:
        errors: Their number.
        lost_bytes: Definitely lost while the path was gone through.
        lost_blocks: Likewise.
        records: The texts of errors and losses with our compiled modules in their stacks.
    """

    errors: int
    lost_bytes: int
    lost_blocks: int
    records: list[str] = field(default_factory=list)


def build_shim(folder: Path) -> Path:
    """Compile what asks memcheck for its counts.

    Raises:
        MissingToolError: There is no valgrind, no compiler, or no headers of valgrind.
    """
    if shutil.which("valgrind") is None:
        raise MissingToolError("valgrind is not installed (Debian: apt-get install valgrind)")
    compiler = next(filter(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")), None)
    if compiler is None:
        raise MissingToolError("there is no C compiler")
    library = folder / "shim.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(HERE / "shim.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "valgrind/memcheck.h" in done.stderr:
        raise MissingToolError("valgrind's headers are not installed")
    if done.returncode:
        raise MissingToolError(f"{compiler} failed: {done.stderr.strip()[-500:]}")
    return library


def check(job: dict[str, Any], rounds: int, shim: Path, folder: Path) -> tuple[dict[str, Losses], dict[str, Losses]]:
    """What memcheck says of each path: with the package, and without it.

    Args:
        job: The core, the names of the paths and the servers, for `worker`.
        rounds: How often each path is gone through.
        shim: What asks memcheck.
        folder: Where the logs go.
    """
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        runs = [{**job, "rounds": rounds, "shim": str(shim), "core": core} for core in (job["core"], "")]
        both = list(pool.map(lambda one: _run(one, folder), runs))
    return both[0], both[1]


def _run(job: dict[str, Any], folder: Path) -> dict[str, Losses]:
    name = f"{job['names'][0].replace(' ', '-')}-{job['core'] or 'stock'}"
    output, log = folder / f"{name}.json", folder / f"{name}.log"
    job = {**job, "output": str(output), "counts_references": False}
    command = [
        "valgrind",
        "--tool=memcheck",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        # Losses have columns of their own.
        "--errors-for-leak-kinds=none",
        "--num-callers=40",
        "--error-limit=no",
        f"--suppressions={_SUPPRESSIONS}",
        f"--log-file={log}",
        sys.executable,
        "-m",
        "hotpaths.worker",
        json.dumps(job),
    ]
    # Without the allocator of Python's own, each object is a block that memcheck knows.
    environment = {
        **os.environ,
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(HERE.parent),
        "PYTHONHASHSEED": "0",
        # Compiling a module takes a second under valgrind, so it is done before, by going through the paths once.
        "PYTHONPYCACHEPREFIX": str(REPOSITORY / ".cache" / "memcheck"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    once = [sys.executable, "-m", "hotpaths.worker", json.dumps({**job, "rounds": 1})]
    subprocess.run(once, env=environment, cwd=REPOSITORY, capture_output=True, check=False)
    output.unlink(missing_ok=True)
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode or not output.exists():
        last = "\n".join(done.stderr.strip().splitlines()[-8:])
        raise DiedError(f"the process ended with {done.returncode}:\n{last}")
    counts = json.loads(output.read_text(encoding="utf-8"))
    records = _ours(log.read_text(encoding="utf-8", errors="replace"))
    return {name: Losses(*values, records.get(name, [])) for name, values in counts.items()}


def _ours(log: str) -> dict[str, list[str]]:
    """Path -> the records in which our compiled modules are found; "" has those of no path."""
    found: dict[str, list[str]] = {}
    where, record = "", []
    for line in [*log.splitlines(), ""]:
        text = _PREFIX.sub("", line).rstrip()
        if text.startswith(("begin ", "end ")):
            where = text.partition(" ")[2] if text.startswith("begin ") else ""
        elif text:
            record.append(text)
            continue
        if any(OURS.search(each) for each in record):
            found.setdefault(where, []).append("\n".join(record))
        record = []
    return found


def show(ours: dict[str, Losses], stock: dict[str, Losses], rounds: int) -> bool:
    """Print the table; gives whether all is well.

    A path fails with an error that stock has not, with a loss in whose stack one of our modules stands, and where it
    loses a block more each time than stock does.
    """
    print(f"{'path':42} {'errors':>6} {'bytes':>8} {'blocks':>6}   stock: {'errors':>6} {'bytes':>8} {'blocks':>6}")
    fine = True
    for name, each in ours.items():
        other = stock[name]
        bad = each.errors > other.errors or each.records or each.lost_blocks - other.lost_blocks >= rounds
        fine = fine and not bad
        print(
            f"{name:42} {each.errors:6} {each.lost_bytes:8} {each.lost_blocks:6}"
            f"          {other.errors:6} {other.lost_bytes:8} {other.lost_blocks:6}{'   FAILS' if bad else ''}"
        )
    for name, each in ours.items():
        for record in each.records:
            print(f"\n{name}:\n{record}")
    return fine
