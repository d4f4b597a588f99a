"""Interrupts a host inside this package, as time limits by signals do, and shows what reached it.

    make interruptions ARGS="--workload sqlite3 --core c --part 3/10"
    make interruptions ARGS="--signals 5000 --workload spans --core stock c py"

Without `--signals`, an exception arrives once at each line of this package and at each return of a C function that it
calls; with it, at so many random instants of each operation. The core "stock" is OpenTelemetry and its instrumentations
without this package.
Exit status 1 means that this package kept the exception from the host.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faultcheck.job import Job
from faultcheck.places import REPOSITORY
from faultcheck.servers import possible, servers
from run import NAMES

_OTHERS = ("swallowed by stock", "swallowed by a library", "in a finalizer")
_BAD = ("swallowed", "raised twice", "strange", "hung")


def main() -> int:
    """Do what the command line asks for."""
    options = _options()
    part, parts = (0, options.signals) if options.signals else map(int, options.part.split("/"))
    harness = "alarms" if options.signals else "interruptions"
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{Path(__file__).parent}"}
    bad = 0
    with servers(options.workload) as found, tempfile.TemporaryDirectory() as folder:
        workloads = possible(options.workload, found)
        for core in options.core:
            job = Job(core, workloads, str(REPOSITORY), found, part, parts, options.line, 20.0, folder, options.jobs)
            command = [sys.executable, "-m", f"faultcheck.{harness}", json.dumps(asdict(job))]
            if subprocess.run(command, env=environment, cwd=REPOSITORY, check=False).returncode:
                return 2
        for file in sorted(Path(folder).iterdir()):
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            bad += _show(file.stem, rows)
    return int(bad > 0)


def _show(name: str, rows: list[dict[str, object]]) -> int:
    """Print what was found; return how much of it is wrong."""
    if any("number" in row for row in rows):
        numbers = {str(row["place"]): int(str(row["number"])) for row in rows}
        print(f"{name}: {numbers}")
        return 0 if name.startswith("stock") else sum(numbers.get(each, 0) for each in _BAD)
    kinds = {kind: sum(kind in row for row in rows) for kind in (*_BAD, *_OTHERS, "open", "current")}
    print(f"{name}: {len(rows)} places, {kinds}")
    for row in rows:
        if len(row) > 1:
            print(f"  {json.dumps(row)[:400]}")
    return 0 if name.startswith("stock") else sum(any(kind in row for kind in _BAD) for row in rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make interruptions", description=__doc__.partition("\n")[0])
    parser.add_argument("--workload", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--core", nargs="+", choices=("c", "py", "stock"), default=("c", "py"))
    parser.add_argument("--line", nargs="+", default=[], metavar="PLACE", help="db/cursors.py:128")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th place, from the K-th on (from 0)")
    parser.add_argument(
        "--signals", type=int, default=0, metavar="N", help="signals instead, at N instants of each operation"
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
