"""The options of `otel-fastpath verify`. Importing this module is cheap: the command is loaded when it runs."""

from __future__ import annotations

import argparse
from typing import Any, Final

from otel_fastpath.tools.budget.cli import run_guarded
from otel_fastpath.tools.budget.outputs import add_outputs
from otel_fastpath.tools.common import exit_codes
from otel_fastpath.tools.common.arguments import add_allow, add_progress, add_refused, count, seconds
from otel_fastpath.tools.verify import LEAST_RUNS

_DESCRIPTION: Final = (
    "Runs COMMAND with stock OpenTelemetry, with otel-fastpath, and with stock OpenTelemetry again, each time under "
    "opentelemetry-instrument, receives the telemetry on the loopback interface, and lists the differences. What "
    "differs between the runs with stock OpenTelemetry is compared less strictly. Your back end receives nothing: what "
    "COMMAND and --load try to reach besides the loopback interface is refused, and named."
)


def add_command(commands: Any) -> None:
    """Add the command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "verify",
        help="run a program with stock OpenTelemetry and with otel-fastpath, and compare their telemetry",
        description=_DESCRIPTION,
        epilog=exit_codes.epilog("verify"),
    )
    parser.add_argument(
        "--as-is",
        action="store_true",
        help="run COMMAND without opentelemetry-instrument, because it sets OpenTelemetry up by itself",
    )
    parser.add_argument(
        "--stock-runs",
        type=count,
        default=LEAST_RUNS,
        metavar="N",
        help="runs with stock OpenTelemetry, 2 or more: each shows more of what varies (default %(default)s)",
    )
    parser.add_argument("--seconds", type=seconds, metavar="S", help="stop COMMAND, or --load, after this time")
    parser.add_argument("--url", default="", help="wait for this page, ask for it 20 times, and stop COMMAND")
    parser.add_argument(
        "--ready", default="", metavar="URL", help="wait until this URL of COMMAND answers before --load is started"
    )
    parser.add_argument(
        "--load",
        default="",
        metavar="COMMAND",
        help="a command, in one argument, that uses COMMAND, which is stopped afterwards",
    )
    add_allow(parser)
    add_progress(parser)
    add_outputs(parser)
    add_refused(parser, "verify")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")
    parser.set_defaults(run=lambda options: run_guarded(lambda: _run(options)))


def _run(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.verify import command  # noqa: PLC0415  # see the module's docstring

    return command.run(options)
