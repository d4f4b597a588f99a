"""Runs a slice of each slow proof that is due on a day, and prints what was in it.

    make test-today
    make test-today DATE=2026-12-01
    make test-today ARGS=--list

Within twenty days, each item of each proof is run: see `proofs`. Exit status 1 means that a slice failed or hangs.
After five minutes, what runs is stopped and named as not run, as a machine may be slow: 20 days later it comes first.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import re
import resource
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
    from collections.abc import Mapping, Sequence

    from schedule import Slice

LOGS = ROOT / "build" / "today"
# After this, nothing is begun and what runs is stopped.
LIMIT = 300.0
# What uses so little of a processor in so long a time waits for something that does not come.
_IDLE = 120.0
_LEAST_CPU = 0.5
# How often that is looked at, and how long what is stopped may take to end its servers.
_LOOK = 2.0
_GRACE = 15.0
_LINES = 60


class Result(NamedTuple):
    """What came of a slice.

    Attributes:
        state: "passed", "failed" or "not run".
        why: Why it was not run, or how it failed.
        seconds: What it took.
        cpu: The seconds of a processor that it took.
    """

    state: str
    why: str = ""
    seconds: float = 0.0
    cpu: float = 0.0


class Ended(NamedTuple):
    """How a command ended.

    Attributes:
        status: Its exit status; None if it was stopped.
        why: Why it was stopped.
        is_hung: Whether that is because it did nothing any more.
    """

    status: int | None
    why: str = ""
    is_hung: bool = False


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
    log = LOGS / f"{re.sub(r'[^a-z0-9]+', '-', part.proof.name)}.log"
    used = _cpu()
    ended = _ended(part.proof.command_of(items), part.proof.environ, log, deadline)
    took = (time.monotonic() - began, _cpu() - used)
    if ended.status == 0:
        return Result("passed", "", *took)
    if ended.status is None and not ended.is_hung:
        return Result("not run", f"to its end: {ended.why}", *took)
    print("\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:]), flush=True)
    if ended.status == part.proof.unchecked:
        return Result("not run", f"exit status {ended.status}: see above", *took)
    why = f"exit status {ended.status}" if ended.status is not None else f"stopped: {ended.why}"
    return Result("failed", f"{why}; all of it is in {log.relative_to(ROOT)}", *took)


def _cpu() -> float:
    """What the processes have used of a processor that have been waited for, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _head(part: Slice, lacking: dict[str, str]) -> None:
    """What a slice consists of."""
    of = len(part.proof.items)
    print(f"\n{part.proof.name}: slice {part.number} of {part.of}, {len(part.items)} of {of}:", flush=True)
    are_all_lacking = all(lacking.values())
    for item in part.items:
        print(f"    {item}{f' (not run: {lacking[item]})' if lacking[item] and not are_all_lacking else ''}")
    sys.stdout.flush()


def _ended(command: Sequence[str], environ: Mapping[str, str], log: Path, deadline: float) -> Ended:
    """Run a command until it ends, hangs, or the time is over."""
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
            return _watched(process, deadline)
        finally:
            _stop(process)


def _watched(process: subprocess.Popen[bytes], deadline: float) -> Ended:
    used, since = 0.0, time.monotonic()
    while (now := time.monotonic()) < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return Ended(process.wait(min(_LOOK, deadline - now)))
        uses = _used(process.pid)
        if uses is None or abs(uses - used) >= _LEAST_CPU:
            used, since = uses or 0.0, now
        elif now - since >= _IDLE:
            return Ended(None, f"it did nothing for {_IDLE:.0f} seconds", is_hung=True)
    return Ended(None, f"the {LIMIT:.0f} seconds were over")


def _used(process: int) -> float | None:
    """The seconds of a processor that a process and its descendants have used; None where there is no /proc."""
    family = _family(process)
    return sum(ticks for ticks, _ in family.values()) / os.sysconf("SC_CLK_TCK") if family else None


def _family(process: int) -> dict[int, tuple[int, int]]:
    """A process and its descendants, with the ticks that each has used and that of its start; none without /proc."""
    times, parents = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # Before the last bracket stands the name, which may be anything.
            fields = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents[int(file.parent.name)] = int(fields[1])
            times[int(file.parent.name)] = (sum(map(int, fields[11:15])), int(fields[19]))
    found = {process} & times.keys()
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return {each: times[each] for each in found}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt what still runs, so that it ends its servers; kill what is left, in whichever session it is."""
    family = _family(process.pid) if process.poll() is None else {}
    with contextlib.suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
        os.killpg(process.pid, signal.SIGKILL)
    for each, (_, start) in family.items():
        # Not another process that has its number by now.
        if _family(each).get(each, (0, None))[1] == start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
    process.wait()


def show(date: dt.date, results: Sequence[tuple[Slice, Result]], seconds: float) -> int:
    """Print what came of the slices; 1 if one failed."""
    print(f"\nSlow proofs of {date}, day {date.toordinal() % DAYS + 1} of {DAYS}:")
    print(f"{'proof':28} {'slice':>8} {'items':>9} {'seconds':>8} {'expected':>8} {'CPU':>5}  result")
    for part, result in results:
        count = f"{len(part.items)} of {len(part.proof.items)}"
        number = f"{part.number} of {part.of}"
        said = f"{result.state}{f': {result.why}' if result.why else ''}"
        took = f"{result.seconds:8.0f} {part.seconds:8.0f} {result.cpu:5.0f}"
        print(f"{part.proof.name:28} {number:>8} {count:>9} {took}  {said}")
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
