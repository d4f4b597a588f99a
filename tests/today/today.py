"""Runs a slice of each slow proof that is due on a day, and prints what was in it.

    make test-today
    make test-today DATE=2026-12-01
    make test-today ARGS=--list

Within twenty days, each item of each proof is run: see `proofs`. Exit status 1 means that a slice failed, or that one
took so much longer than it should that it was stopped.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from proofs import PROOFS, ROOT
from schedule import DAYS, MOST_SECONDS, schedule, slices_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedule import Slice

LOGS = ROOT / "build" / "today"
# After this, nothing is begun and what runs is stopped.
LIMIT = 300.0
# What takes longer than this many times its estimate is stopped: it hangs.
_PATIENCE = 4.0
_SHORTEST = 60.0
_LINES = 60


class Result(NamedTuple):
    """What came of a slice.

    Attributes:
        state: "passed", "failed" or "not run".
        why: Why it was not run, or how it failed.
        seconds: What it took.
    """

    state: str
    why: str = ""
    seconds: float = 0.0


def run(part: Slice, deadline: float) -> Result:
    """Run a slice; what it prints is kept in a file, and printed if it fails."""
    lacking = {item: part.proof.lacks(item) for item in part.items}
    items = [item for item in part.items if not lacking[item]]
    _head(part, lacking)
    if not items:
        return Result("not run", next(filter(None, lacking.values())))
    began = time.monotonic()
    if began >= deadline:
        return Result("not run", f"the {LIMIT:.0f} seconds were over")
    patience = max(_SHORTEST, _PATIENCE * part.seconds)
    log = LOGS / f"{re.sub(r'[^a-z0-9]+', '-', part.proof.name)}.log"
    status = _status(part.proof.command_of(items), part.proof.environ, log, min(patience, deadline - began))
    seconds = time.monotonic() - began
    if status is None and seconds < patience:
        return Result("not run", f"to its end: the {LIMIT:.0f} seconds were over", seconds)
    if status == 0:
        return Result("passed", seconds=seconds)
    print("\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:]), flush=True)
    if status is not None and status == part.proof.unchecked:
        return Result("not run", f"exit status {status}: see above", seconds)
    why = f"exit status {status}" if status is not None else f"stopped: {part.seconds:.0f} seconds are usual"
    return Result("failed", f"{why}; all of it is in {log.relative_to(ROOT)}", seconds)


def _head(part: Slice, lacking: dict[str, str]) -> None:
    """What a slice consists of."""
    of = len(part.proof.items)
    print(f"\n{part.proof.name}: slice {part.number} of {part.of}, {len(part.items)} of {of}:", flush=True)
    are_all_lacking = all(lacking.values())
    for item in part.items:
        print(f"    {item}{f' (not run: {lacking[item]})' if lacking[item] and not are_all_lacking else ''}")
    sys.stdout.flush()


def _status(command: Sequence[str], environ: dict[str, str], log: Path, limit: float) -> int | None:
    """The exit status of a command; None if it was stopped."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def show(date: dt.date, results: Sequence[tuple[Slice, Result]], seconds: float) -> int:
    """Print what came of the slices; 1 if one failed."""
    print(f"\nSlow proofs of {date}, day {date.toordinal() % DAYS + 1} of {DAYS}:")
    print(f"{'proof':24} {'slice':>8} {'items':>9} {'seconds':>8} {'expected':>8}  result")
    for part, result in results:
        count = f"{len(part.items)} of {len(part.proof.items)}"
        number = f"{part.number} of {part.of}"
        said = f"{result.state}{f': {result.why}' if result.why else ''}"
        print(f"{part.proof.name:24} {number:>8} {count:>9} {result.seconds:8.0f} {part.seconds:8.0f}  {said}")
    states = [result.state for _, result in results]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("passed", "failed", "not run"))
    print(f"Slices: {counts}, in {seconds:.0f} s")
    return int("failed" in states)


def show_schedule() -> None:
    """Print what each day has."""
    for day, parts in enumerate(schedule(PROOFS), 1):
        print(f"day {day}: {sum(part.seconds for part in parts):.0f} of {MOST_SECONDS:.0f} s")
        for part in parts:
            print(f"    {part.proof.name} {part.number}/{part.of}, {part.seconds:.0f} s: {', '.join(part.items)}")


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date: expected something like 2026-12-01") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="make test-today", description=__doc__.partition("\n")[0])
    today = dt.datetime.now(dt.timezone.utc).date()
    parser.add_argument("--date", type=_date, default=today, help="the day, as 2026-12-01; default: today in UTC")
    parser.add_argument("--list", action="store_true", help="print what each of the twenty days has, and run nothing")
    options = parser.parse_args(arguments)
    if options.list:
        show_schedule()
        return 0
    began = time.monotonic()
    results = [(part, run(part, began + LIMIT)) for part in slices_of(options.date, PROOFS)]
    return show(options.date, results, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
