"""Goes through the hot paths, and says of each what was lost. Run by `run.py`, in a process of its own.

python -m hotpaths.worker JOB
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_WARM_UP = 20
_BETWEEN = 100


def _go(function: Callable[[Any], None], given: Any, rounds: int) -> None:
    for number in range(rounds):
        function(given)
        if number % _BETWEEN == _BETWEEN - 1:
            given.settle()
    given.settle()
    for _ in range(3):
        gc.collect()


def ready(job: dict[str, Any]) -> tuple[Any, dict[str, Callable[[Any], None]]]:
    """What the paths work with, and the paths: those of `paths`, or one host."""
    from hotpaths.hosts import HOSTS, Hosting
    from hotpaths.paths import PATHS

    (*_, last) = names = job["names"]
    if last in HOSTS:
        return Hosting(last, job["core"], job["servers"]), {last: Hosting.once}
    from hotpaths.given import Given

    return Given(job["core"]), {name: PATHS[name] for name in names}


def under_valgrind(given: Any, paths: dict[str, Callable[[Any], None]], job: dict[str, Any]) -> dict[str, Any]:
    """Of each path: errors, and bytes and blocks that were definitely lost in so many rounds."""
    shim = ctypes.CDLL(job["shim"])
    shim.errors.restype = ctypes.c_ulong
    lost = (ctypes.c_ulong * 2)()
    found = {}
    for name, function in paths.items():
        _go(function, given, min(_WARM_UP, job["rounds"]))
        shim.say(f"begin {name}\n".encode())
        shim.lost(lost)
        before = (shim.errors(), *lost)
        _go(function, given, job["rounds"])
        shim.lost(lost)
        shim.say(f"end {name}\n".encode())
        found[name] = [after - earlier for after, earlier in zip((shim.errors(), *lost), before, strict=True)]
    return found


def references(given: Any, paths: dict[str, Callable[[Any], None]], job: dict[str, Any]) -> dict[str, Any]:
    """Of each path: by how many references a round the interpreter's total grew."""
    found = {}
    for name, function in paths.items():
        _go(function, given, 3 * _BETWEEN)
        rounds = job["rounds"]
        totals = []
        for _ in range(3):
            _go(function, given, rounds)
            totals.append(sys.gettotalrefcount())  # type: ignore[attr-defined]
        found[name] = min(totals[1] - totals[0], totals[2] - totals[1]) / rounds
    return found


def main(job: dict[str, Any]) -> None:
    """Do the job and write its result."""
    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    given, paths = ready(job)
    if job["core"]:
        from otel_fastpath import compiled

        if compiled.implementation()[0] != job["core"]:
            raise RuntimeError(f"the {job['core']} core is not there: {compiled.implementation()[1]}")
    found = (references if job["counts_references"] else under_valgrind)(given, paths, job)
    Path(job["output"]).write_text(json.dumps(found), encoding="utf-8")
    # The threads of a host, and what it has open, have nothing to do any more.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
