"""The options of `otel-fastpath profile`. Importing this module is cheap: the command is loaded when it runs."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from otel_fastpath.tools.common import exit_codes
from otel_fastpath.tools.common.arguments import (
    add_allow,
    add_clients,
    add_progress,
    as_number,
    count,
    process,
    seconds,
)

_SECONDS: Final = 30.0
_RATE: Final = 97.0


def add_commands(commands: Any) -> None:
    """Add the sub-command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "profile",
        help="tell where telemetry spends CPU time in a program or a running process",
        usage="otel-fastpath profile [options] COMMAND... | otel-fastpath profile [options] --pid PID",
        description=(
            "Runs a program of Python, or asks a running process, and samples where it spends CPU time. Says what "
            "share telemetry takes, which hooks it goes to, and what to do. Put load on a service meanwhile, or name a "
            "page by --url; Ctrl-C ends it with a report."
        ),
        epilog=exit_codes.epilog("profile"),
    )
    parser.add_argument("--pid", type=process, help="a running process, instead of a command")
    parser.add_argument(
        "--seconds",
        type=seconds,
        metavar="N",
        help=f"how long (default {_SECONDS:g}; with --requests, no limit); then the command is stopped as by Ctrl-C",
    )
    parser.add_argument(
        "--requests", type=count, default=0, metavar="N", help="end after so many requests of a server (Python 3.12+)"
    )
    parser.add_argument(
        "--rate", type=_rate, default=_RATE, metavar="N", help="samples in a second of CPU time (default %(default)g)"
    )
    parser.add_argument("--url", default="", help="ask for this page meanwhile, from the time that it answers")
    add_clients(parser)
    add_allow(parser)
    add_progress(parser)
    group = parser.add_argument_group("output", "a file name, or - for standard output")
    group.add_argument("--json", metavar="FILE", help="the report for machines")
    group.add_argument("--html", metavar="FILE", help="one page with the report and a flame graph")
    group.add_argument("--speedscope", metavar="FILE", help="the stacks for speedscope")
    group.add_argument("--collapsed", metavar="FILE", help="the stacks as flamegraph.pl reads them")
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE...", help="a module to run, and its arguments"
    )
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND...",
        help="a script, or a program as uvicorn app:app",
    )
    parser.set_defaults(run=lambda options: _run(parser, options))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.module == []:
        parser.error("-m: expected the name of a module")
    if options.module:
        options.command = ["-m", *options.module]
    if options.command[:1] == ["--"]:
        options.command = options.command[1:]
    if (options.pid is None) == (not options.command):
        parser.error("expected a command, or --pid PID")
    if options.command and options.command[0].isdecimal():
        parser.error(f"{options.command[0]}: expected a command; a running process is --pid {options.command[0]}")
    if options.requests and options.pid is None and sys.version_info < (3, 12):
        parser.error("--requests needs Python 3.12 or newer")
    if options.seconds is None and not options.requests:
        options.seconds = _SECONDS
    from otel_fastpath.tools.profile import command  # noqa: PLC0415  # see the module's docstring

    return command.run(options)


def _rate(text: str) -> float:
    if not 1 <= (number := as_number(text)) <= 1000:  # noqa: PLR2004  # as documented
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 1 to 1000")
    return number
