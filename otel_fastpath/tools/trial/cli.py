"""The options of `otel-fastpath try`. Importing this module is cheap: the command is loaded when it runs."""

from __future__ import annotations

import argparse
from typing import Any, Final

from otel_fastpath.tools.budget.cli import run_guarded
from otel_fastpath.tools.budget.outputs import add_outputs
from otel_fastpath.tools.common.arguments import add_allow

_DESCRIPTION: Final = (
    "Starts a service without telemetry, as it is deployed, and with otel-fastpath, in turns, sends requests to it, "
    "and says in a minute and a half what telemetry costs now, what it would cost, whether the same telemetry arrives, "
    "and where the rest of the cost is. Nothing but the loopback interface is reached (Linux)."
)
_EXIT_CODES: Final = (
    "exit status: 0 there is an answer, 1 the telemetry differs, 2 usage, 3 a cost cannot be told from noise, 4 there "
    "is no figure, and standard error has the reason"
)


def add_command(commands: Any) -> None:
    """Add the command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "try",
        help="say what telemetry costs your service, what it would cost, and whether it is the same",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--url", default="", help="the page to ask for (default: the first one that COMMAND answers)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=90.0,
        metavar="S",
        help="the time that there is (default 90); a service that starts slowly needs more for an interval",
    )
    parser.add_argument("--clients", type=int, default=8, metavar="N", help="clients at a time (default 8)")
    parser.add_argument(
        "--as-is",
        action="store_true",
        help="COMMAND sets OpenTelemetry up by itself (default: find out, else run it by opentelemetry-instrument)",
    )
    parser.add_argument(
        "--status",
        type=int,
        action="append",
        default=[],
        metavar="CODE",
        help="the status of answers that count (default: all below 400)",
    )
    add_allow(parser)
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")
    add_outputs(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="starts the service")
    parser.set_defaults(run=lambda options: run_guarded(lambda: _run(options)))


def _run(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.trial import command  # noqa: PLC0415  # see the module's docstring

    return command.run(options)
