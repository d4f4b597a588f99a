"""`otel-fastpath verify`: the runs, and the report."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.bench import service
from otel_fastpath.tools.budget.outputs import UsageError, write
from otel_fastpath.tools.common.exit_codes import Exit
from otel_fastpath.tools.common.loopback import AllowError, Loopback
from otel_fastpath.tools.common.program import (
    FASTPATH,
    STOCK,
    Program,
    ProgramError,
    last_lines,
    why_not_loaded,
    without_dashes,
)
from otel_fastpath.tools.common.receiver import Receiver, of_requests
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.verify import LEAST_RUNS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from otel_fastpath.tools.verify.export_items import Item

_LOAD: Final = "otel_fastpath.tools.common.load"
# How often `--url` is asked for.
_ASKED: Final = 20


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    _check(options)
    try:
        from otel_fastpath.tools.verify import comparing, report  # noqa: PLC0415  # they need OTLP's messages
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install opentelemetry-exporter-otlp-proto-http") from None
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    try:
        with Loopback(options.allow) as loopback, Receiver() as receiver:
            runs = _Runs(_program(options, loopback), receiver, show)
            try:
                runs.add(STOCK, FASTPATH, *[STOCK] * (options.stock_runs - 1))
                comparison = comparing.compare(runs.items[STOCK], runs.items[FASTPATH][0])
                if comparison.differences:
                    # Values that vary now and then: what is a difference is one in another run, too.
                    runs.add(FASTPATH, STOCK)
                    comparison = comparing.compare_again(runs.items[STOCK], runs.items[FASTPATH])
            except ProgramError as error:
                show(1, 1, "")
                return _nothing(str(error), loopback.notes())
            show(1, 1, "")
            notes = loopback.notes()
    except AllowError as error:
        raise UsageError(str(error)) from None
    report.add_statuses(comparison, runs.statuses)
    failed = {*runs.statuses[STOCK], *runs.statuses[FASTPATH]} - {0}
    write(options, report.document(comparison, failed, notes), report.machine(comparison, notes))
    if comparison.differences:
        return int(Exit.FAILURE)
    return int(Exit.NOT_MEASURED if failed else Exit.SUCCESS)


class _Runs:
    """Runs the program, and keeps what was received."""

    def __init__(self, program: Program, receiver: Receiver, show: Callable[[int, int, str], None]) -> None:
        self._program = program
        self._receiver = receiver
        self._show = show
        self.items: dict[str, list[list[Item]]] = {STOCK: [], FASTPATH: []}
        self.statuses: dict[str, list[int]] = {STOCK: [], FASTPATH: []}

    def add(self, *legs: str) -> None:
        """Run it once in each of these legs.

        Raises:
            ProgramError: It does not run, or there is nothing to compare.
        """
        for number, leg in enumerate(legs):
            self._show(number, len(legs), f"with {'otel-fastpath' if leg == FASTPATH else 'stock OpenTelemetry'}")
            self._add(leg)
            if self._program.is_as_it_is and not self._program.loopback.imports_fastpath():
                self._program = replace(self._program, is_added=True)

    def _add(self, leg: str) -> None:
        from otel_fastpath.tools.verify.export_items import items  # noqa: PLC0415  # it needs OTLP's messages

        name = f"{leg}-{len(self.items[leg])}"
        with tempfile.TemporaryFile() as output:
            status = self._program.run(leg, self._receiver.endpoint(name), output)
            printed = last_lines(output)
        if status and not of_requests(self._receiver.counts(name)):
            raise ProgramError(f"with {leg}, the program failed with exit status {status}{printed}")
        received = items(partial(self._receiver.bodies, name))
        if not received:
            is_stopped = not status and (self._program.load or self._program.seconds is not None)
            how = "it ended, or was stopped, without an error" if is_stopped else f"its exit status was {status}"
            raise ProgramError(f"with {leg}, the program sent no telemetry; {how}")
        if leg == FASTPATH and not self._program.loopback.imports_fastpath():
            raise ProgramError(f"otel-fastpath was not loaded in the program: {why_not_loaded()}")
        self.items[leg].append(received)
        self.statuses[leg].append(status)


def _check(options: argparse.Namespace) -> None:
    if not without_dashes(options.command):
        raise UsageError("verify: expected a command to run, e.g. otel-fastpath verify python -m pytest tests")
    if options.url:
        service.check_url(options.url)
        if options.ready or options.load:
            raise UsageError(f"--url {options.url}: expected no --ready and no --load, because it stands for both")
    if options.stock_runs < LEAST_RUNS:
        raise UsageError(f"--stock-runs {options.stock_runs}: expected a number from {LEAST_RUNS} upwards")
    if options.ready and not options.load:
        raise UsageError("--ready: expected --load, too")


def _program(options: argparse.Namespace, loopback: Loopback) -> Program:
    try:
        load = tuple(shlex.split(options.load))
    except ValueError as error:
        raise UsageError(f"--load {options.load}: {error}") from None
    if load and shutil.which(load[0]) is None:
        raise UsageError(f"--load {options.load}: no such program")
    found = Program(loopback, without_dashes(options.command), options.as_is, options.seconds, options.ready, load)
    if not options.url:
        return found
    asking = (sys.executable, "-m", _LOAD, options.url, str(_ASKED))
    return replace(found, ready=options.url, load=asking, load_name=f"asking for {options.url}")


def _nothing(why: str, notes: tuple[str, ...]) -> int:
    for line in (why, *notes):
        complain(line)
    return int(Exit.NOT_MEASURED)
