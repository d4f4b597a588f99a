"""`otel-fastpath verify`: the runs, and the report."""

from __future__ import annotations

import shlex
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING

from otel_fastpath.budget.outputs import UsageError, write
from otel_fastpath.budget.render import progress
from otel_fastpath.budget.results import Exit
from otel_fastpath.trial.program import FASTPATH, STOCK, Program, ProgramError, without_dashes
from otel_fastpath.trial.receiver import Receiver
from otel_fastpath.verify import LEAST_RUNS

if TYPE_CHECKING:
    import argparse

    from otel_fastpath.verify.telemetry import Item


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    program = _program(options)
    try:
        from otel_fastpath.verify import report  # noqa: PLC0415  # it needs OTLP's messages
        from otel_fastpath.verify.comparing import compare  # noqa: PLC0415  # likewise
        from otel_fastpath.verify.telemetry import items  # noqa: PLC0415  # likewise
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install opentelemetry-exporter-otlp-proto-http") from None
    legs = [STOCK, FASTPATH, *[STOCK] * (options.stock_runs - 1)]
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    found: list[list[Item]] = []
    statuses: list[int] = []
    with Receiver() as receiving:
        for number, leg in enumerate(legs):
            show(number, len(legs), f"with {'otel-fastpath' if leg == FASTPATH else 'stock OpenTelemetry'}")
            name = f"{leg}-{number}"
            try:
                statuses.append(_run_once(program, leg, receiving.endpoint(name)))
            except ProgramError as error:
                show(1, 1, "")
                return _nothing(str(error))
            found.append(items(partial(receiving.bodies, name)))
    show(1, 1, "")
    for leg, received, status in zip(legs, found, statuses, strict=True):
        if not received:
            return _nothing(f"with {leg}, the program sent no telemetry; its exit status was {status}")
    comparison = compare([received for leg, received in zip(legs, found, strict=True) if leg == STOCK], found[1])
    report.add_statuses(comparison, statuses[0], statuses[1])
    write(options, report.document(comparison), report.machine(comparison))
    return int(Exit.EXCEEDED if comparison.differences else Exit.HELD)


def _program(options: argparse.Namespace) -> Program:
    command = without_dashes(options.command)
    if not command:
        raise UsageError("verify: expected a command to run, e.g. otel-fastpath verify python -m pytest tests")
    if options.stock_runs < LEAST_RUNS:
        raise UsageError(f"--stock-runs {options.stock_runs}: expected a number from {LEAST_RUNS} upwards")
    if options.seconds is not None and not options.seconds > 0:
        raise UsageError(f"--seconds {options.seconds:g}: expected a number above 0")
    if options.ready and not options.load:
        raise UsageError("--ready: expected --load, too")
    try:
        load = tuple(shlex.split(options.load))
    except ValueError as error:
        raise UsageError(f"--load {options.load}: {error}") from None
    return Program(command, options.as_is, options.seconds, options.ready, load)


def _nothing(why: str) -> int:
    sys.stderr.write(f"otel-fastpath: {why}\n")
    return int(Exit.NOT_MEASURED)


def _run_once(program: Program, leg: str, endpoint: str) -> int:
    with tempfile.TemporaryFile() as output:
        return program.run(leg, endpoint, output)
