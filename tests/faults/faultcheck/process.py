"""A process in which lines fail: imports what the workloads need once, and forks from there.

    python -m faultcheck.process JOB

JOB is JSON: what `job.Job` says.
"""
# ruff: noqa: T201  # part of a program that prints

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import sys
import time
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultcheck.children import ChildError, in_child
from faultcheck.injector import CAN_REPEAT, InjectedFault, Injector
from faultcheck.job import part_of
from faultcheck.judge import Run, Verdict, judge
from faultcheck.lines import PACKAGE, with_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultcheck.injector import Place
    from faultcheck.job import Job

_RUNS = (("once", False), ("always", True)) if CAN_REPEAT else (("once", False),)
_AFTERWARDS = "afterwards"
# How long a fault may take, at first: this, and so many times what it takes without. Then the limit, or so many times.
_SHORT_S = 2.0
_TIMES_LONGER = 5.0
_TIMES_LIMIT = 20.0
# How many times the limit what nothing fails in may take: on a busy machine, no other is known yet.
_TIMES_WITHOUT = 6.0


class _Said(logging.Handler):
    """Counts the log records that tell of a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count it."""
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and not isinstance(error, InjectedFault):
            error = error.__cause__ or error.__context__
        self.number += error is not None or "injected at" in record.getMessage()


class Checked:
    """One workload in a process of its own, ready to fork."""

    def __init__(self, job: Job, workload: str) -> None:
        from faultcheck.workloads import WORKLOADS

        name, _, own = workload.partition(":")
        self.job = job
        self.part = part_of(own) if own else (job.part, job.parts)
        self.injector = Injector()
        self.workload = WORKLOADS[name](job.core, job.servers)
        self.usual_s = job.limit_s
        self.said = _Said()
        logging.getLogger().handlers[:] = [self.said]
        # What finalizers raise is the interpreter's to print.
        sys.unraisablehook = lambda _unraisable: None

    def make_ready(self) -> None:
        """Go through it once without the package, so that other people's first use is over; then put it in place."""
        self.workload.prepare()
        if self.workload.instruments_itself:
            self._import_the_rest()
        else:
            self.workload.begin()
            self._run(None, repeats=False)
            self.workload.instrument()
            self.workload.begin()
        gc.collect()
        gc.freeze()

    def _import_the_rest(self) -> None:
        """Import what the workload does, but for this package's own modules: that is part of what is watched."""

        def imported() -> list[str]:
            before = set(sys.modules)
            self._steps()
            return sorted(set(sys.modules) - before)

        for name in in_child(imported, _TIMES_WITHOUT * self.job.limit_s):
            if not name.startswith("otel_fastpath"):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)

    def baseline(self) -> list[Run]:
        """The runs of a child in which nothing fails; a fault must not take much longer."""
        began = time.monotonic()
        runs = in_child(lambda: self._runs(None)["runs"], _TIMES_WITHOUT * self.job.limit_s)
        self.usual_s = time.monotonic() - began
        return [Run(**each) for each in runs]

    def places(self) -> list[Place]:
        """The lines with calls that are reached, in the order of the files."""

        def recorded() -> list[Place]:
            self.injector.record()
            self._steps()
            return sorted(self.injector.disarm())

        root = Path(self.job.root)
        from otel_fastpath.compiled import TWINS

        # The encoder's is no twin of one file.
        hot = tuple(f"{PACKAGE}/{twin.removesuffix('_c').replace('.', '/')}." for twin in TWINS)
        hot += (f"{PACKAGE}/otlp/encoder_",)
        reached = in_child(recorded, _TIMES_WITHOUT * self.job.limit_s)
        found = [(name, line) for name, line in reached if line in with_calls(root / name)]
        if self.job.core == "c" and self.workload.is_the_same_with_each_core:
            found = [each for each in found if each[0].startswith(hot)]
        about = self.workload.about
        found = [each for each in found if not about or self.job.lines or each[0].startswith(about)]
        kept = found[self.part[0] :: self.part[1]]
        wanted = self.job.lines
        return [each for each in kept if not wanted or any(one in "{}:{}:".format(*each) for one in wanted)]

    def verdict(self, place: Place, without: list[Run]) -> tuple[Verdict, int]:
        """What a fault at this line does; and how often it was raised."""
        verdict = Verdict()
        try:
            found = self._found(place)
        except ChildError as error:
            verdict.is_hung = True
            verdict.host.append(str(error)[:3000])
            return verdict, 1
        runs = [Run(**each) for each in found["runs"]]
        for label, run, expected in zip([*(name for name, _ in _RUNS), _AFTERWARDS], runs, without, strict=True):
            judge(label, run, expected, verdict)
        is_said = any(run.said > other.said for run, other in zip(runs, without, strict=True))
        verdict.is_silent = found["hits"] > 0 and not is_said
        return verdict, found["hits"]

    def _found(self, place: Place) -> dict[str, Any]:
        """What a child finds. One that hangs is given up soon, and has all its time once more: the machine may be busy.

        Raises:
            ChildError: It hung or died, both times.
        """
        last = max(self.job.limit_s, _TIMES_LIMIT * self.usual_s)
        limits = (min(last, _SHORT_S + _TIMES_LONGER * self.usual_s), last)
        try:
            found: dict[str, Any] = in_child(lambda: self._runs(place), limits[0])
        except ChildError:
            found = in_child(lambda: self._runs(place), limits[1])
        return found

    def _runs(self, place: Place | None) -> dict[str, Any]:
        runs, hits = [], 0
        for _, repeats in _RUNS:
            runs.append(self._run(place, repeats=repeats).as_json())
            hits += self.injector.hits
        runs.append(self._run(None, repeats=False).as_json())
        return {"runs": runs, "hits": hits}

    def _run(self, place: Place | None, *, repeats: bool) -> Run:
        said = self._said()
        if place is not None:
            self.injector.arm(place, repeats=repeats)
        try:
            host, stopped = self._steps()
        finally:
            self.injector.disarm()
        # What is left to the collector ends now, not in another run.
        host.forget()
        gc.collect()
        try:
            self.workload.settle()
        except BaseException as error:
            stopped = stopped or f"while exporting: {error!r}"
        return Run.of(host, self.workload.telemetry.taken(), self._said() - said, stopped)

    def _steps(self) -> tuple[Any, str]:
        from faultcheck.host import Host

        host = Host()
        try:
            self.workload.run(host)
        except BaseException as error:
            return host, "".join(traceback.format_exception(error)[-4:])[-600:]
        return host, ""

    def _said(self) -> int:
        faults = sys.modules.get("otel_fastpath.patching.faults")
        return self.said.number + (sum(faults.counts().values()) if faults is not None else 0)


def check(job: Job, workload: str) -> Iterator[dict[str, Any]]:
    """Everything that a workload finds; a row for each fault.

    Raises:
        RuntimeError: The workload is not the same each time.
    """
    checked = Checked(job, workload)
    checked.make_ready()
    without, again = checked.baseline(), checked.baseline()
    if without != again or any(run.stopped for run in without):
        differing = [str(each) for each in zip(without, again, strict=True) if each[0] != each[1]]
        raise RuntimeError(f"the workload is not the same twice: {differing or without}"[:6000])
    places = checked.places()
    # What was read of the package is no garbage, either: each child would look through it.
    gc.collect()
    gc.freeze()
    for place in places:
        verdict, hits = checked.verdict(place, without)
        yield {"place": "{}:{}".format(*place), "hits": hits, **asdict(verdict)}


def main(job: Job) -> int:
    """Check each workload in a process of its own; gives how many could not be checked.

    Raises:
        RuntimeError: The package that is imported is another.
    """
    warnings.simplefilter("ignore")
    for name in ("faultcheck.workloads", "faultcheck.host", "otel_fastpath.instrumentor"):
        importlib.import_module(name)
    package = Path(sys.modules["otel_fastpath"].__file__ or "")
    if not package.is_relative_to(job.root):
        raise RuntimeError(f"the package is {package}, not that of {job.root}")
    gc.freeze()
    failed, running = 0, 0
    for workload in job.workloads:
        if running == max(1, job.processes):
            failed += os.wait()[1] != 0
            running -= 1
        if os.fork() == 0:
            _write(job, workload)
        running += 1
    return failed + sum(os.wait()[1] != 0 for _ in range(running))


def _write(job: Job, workload: str) -> None:
    status = 1
    try:
        began, rows, bad = time.monotonic(), 0, 0
        with Path(job.output, f"{job.core}-{workload.replace('/', ' of ')}.jsonl").open("w", encoding="utf-8") as file:
            for found in check(job, workload):
                file.write(json.dumps(found) + "\n")
                file.flush()
                rows, bad = rows + 1, bad + bool(found["host"] or found["context"] or found["twice"])
        took = time.monotonic() - began
        print(f"{job.core:2} {workload}: {rows} faults, {bad} not without effect, {took:.0f} s", flush=True)
        status = 0
    except BaseException as error:
        print(f"{job.core:2} {workload}: {''.join(traceback.format_exception(error))[-4000:]}", flush=True)
    finally:
        # Threads and finalizers of what was prepared have nothing to do any more.
        os._exit(status)


if __name__ == "__main__":
    from faultcheck.job import Job

    sys.exit(main(Job(**json.loads(sys.argv[1]))))
