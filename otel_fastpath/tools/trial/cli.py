"""The options of `otel-fastpath try`. Importing this module is cheap: the command is loaded when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.cli import run_guarded
from otel_fastpath.tools.budget.outputs import add_outputs
from otel_fastpath.tools.common import exit_codes
from otel_fastpath.tools.common.arguments import add_allow, add_progress, add_refused, add_service, seconds

if TYPE_CHECKING:
    import argparse

_DESCRIPTION: Final = (
    "Starts a service without telemetry, as it is deployed, and with otel-fastpath, in turns, sends requests to it, "
    "and says in a minute and a half what telemetry costs now, what it would cost, whether the same telemetry arrives, "
    "and where the rest of the cost is. Nothing but the loopback interface is reached (Linux)."
)


def add_command(commands: Any) -> None:
    """Add the command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "try",
        help="say what telemetry costs your service, what it would cost, and whether it is the same",
        description=_DESCRIPTION,
        epilog=exit_codes.epilog("try"),
    )
    parser.add_argument("--url", default="", help="the page to ask for (default: the first one that COMMAND answers)")
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=90.0,
        metavar="S",
        help="the time that there is (default 90); a service that starts slowly needs more for an interval",
    )
    add_allow(parser)
    add_progress(parser)
    add_outputs(parser)
    add_refused(parser, "try")
    add_service(parser)
    parser.set_defaults(run=lambda options: run_guarded(lambda: _run(options)))


def _run(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.trial import command  # noqa: PLC0415  # see the module's docstring

    return command.run(options)
