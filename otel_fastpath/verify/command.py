"""`otel-fastpath verify`: its options, the runs, and the report."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.budget.cli import guarded
from otel_fastpath.budget.outputs import UsageError, add_outputs, write
from otel_fastpath.budget.render import progress
from otel_fastpath.budget.results import Exit
from otel_fastpath.trial.program import FASTPATH, STOCK, Program, ProgramError, last_lines
from otel_fastpath.trial.receiver import Receiver

if TYPE_CHECKING:
    from otel_fastpath.verify.telemetry import Item

_LEAST_RUNS: Final = 2
_DESCRIPTION: Final = (
    "Runs COMMAND with stock OpenTelemetry, with otel-fastpath, and with stock OpenTelemetry again, each time under "
    "opentelemetry-instrument, receives the telemetry on the loopback interface, and lists the differences. What "
    "differs between the runs with stock OpenTelemetry is compared less strictly. Your back end receives nothing."
)
_EXIT_CODES: Final = "exit status: 0 the same telemetry, 1 it differs, 2 usage, 4 there is nothing to compare"


def add_command(commands: Any) -> None:
    """Add the command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "verify",
        help="run a program with stock OpenTelemetry and with otel-fastpath, and compare their telemetry",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
    )
    parser.add_argument(
        "--as-is",
        action="store_true",
        help="run COMMAND without opentelemetry-instrument, because it sets OpenTelemetry up by itself",
    )
    parser.add_argument(
        "--stock-runs",
        type=int,
        default=_LEAST_RUNS,
        metavar="N",
        help="runs with stock OpenTelemetry, 2 or more: each shows more of what varies (default %(default)s)",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="stop COMMAND, or --load, after this time")
    parser.add_argument(
        "--ready", default="", metavar="URL", help="wait until this URL of COMMAND answers before --load is started"
    )
    parser.add_argument(
        "--load",
        default="",
        metavar="COMMAND",
        help="a command, in one argument, that uses COMMAND, which is stopped afterwards",
    )
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")
    add_outputs(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")
    parser.set_defaults(run=lambda options: guarded(lambda: _run(options)))


def _run(options: argparse.Namespace) -> int:
    program = _program(options)
    try:
        from otel_fastpath.verify import report  # noqa: PLC0415  # not needed for the help
        from otel_fastpath.verify.comparing import compare  # noqa: PLC0415  # it needs OTLP's messages
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
    for leg, run, status in zip(legs, found, statuses, strict=True):
        if not run:
            return _nothing(f"with {leg}, the program sent no telemetry; its exit status was {status}")
    comparison = compare([run for leg, run in zip(legs, found, strict=True) if leg == STOCK], found[1])
    report.add_statuses(comparison, statuses[0], statuses[1])
    write(options, report.document(comparison), report.machine(comparison))
    return int(Exit.EXCEEDED if comparison.differences else Exit.HELD)


def _program(options: argparse.Namespace) -> Program:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UsageError("verify: expected a command to run, e.g. otel-fastpath verify python -m pytest tests")
    if options.stock_runs < _LEAST_RUNS:
        raise UsageError(f"--stock-runs {options.stock_runs}: expected a number from {_LEAST_RUNS} upwards")
    if options.seconds is not None and not options.seconds > 0:
        raise UsageError(f"--seconds {options.seconds:g}: expected a number above 0")
    if options.ready and not options.load:
        raise UsageError("--ready: expected --load, too")
    try:
        load = tuple(shlex.split(options.load))
    except ValueError as error:
        raise UsageError(f"--load {options.load}: {error}") from None
    return Program(tuple(command), options.as_is, options.seconds, options.ready, load)


def _nothing(why: str) -> int:
    sys.stderr.write(f"otel-fastpath: {why}\n")
    return int(Exit.NOT_MEASURED)


def _run_once(program: Program, leg: str, endpoint: str) -> int:
    with tempfile.TemporaryFile() as output:
        try:
            return program.run(leg, endpoint, output)
        except ProgramError as error:
            raise ProgramError(f"{error}{last_lines(output)}") from None
