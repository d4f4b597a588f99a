"""The options of `otel-fastpath prove`. Importing this module is cheap: the command is loaded when it runs."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from otel_fastpath.patching.sources import proven
from otel_fastpath.tools.budget.cli import run_guarded
from otel_fastpath.tools.budget.outputs import add_outputs
from otel_fastpath.tools.common import exit_codes
from otel_fastpath.tools.common.arguments import add_progress, add_refused, count

_DESCRIPTION: Final = (
    "Finds the functions of the installed releases of OpenTelemetry that this release of otel-fastpath does not know, "
    "runs random programs that execute them, with stock OpenTelemetry and with the patches that rest on them, and "
    "compares telemetry, results, errors, and what is logged. With --write, what shows no difference is written to a "
    "file, and OTEL_FASTPATH_PROVEN=FILE applies these patches. Nothing but the loopback interface is reached."
)
# How many programs there are of each library.
USUAL: Final = 12


def add_command(commands: Any) -> None:
    """Add the command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "prove",
        help="show whether patches for releases that are not known yet would change the telemetry here",
        description=_DESCRIPTION,
        epilog=exit_codes.epilog("prove"),
    )
    parser.add_argument(
        "--write",
        nargs="?",
        const=proven.FILE,
        metavar="FILE",
        help="write what is proven, if no program shows a difference (default %(const)s)",
    )
    parser.add_argument(
        "--programs",
        type=count,
        default=USUAL,
        metavar="N",
        help="programs of each library, and of spans, metrics and logs in proportion (default %(default)s)",
    )
    add_progress(parser)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    add_outputs(parser)
    add_refused(parser, "prove")
    parser.set_defaults(run=lambda options: run_guarded(lambda: _run(options)))


def _run(options: argparse.Namespace) -> int:
    if options.here:
        from otel_fastpath.tools.prove import command  # noqa: PLC0415  # see the module's docstring

        return command.run(options)
    from otel_fastpath.tools.common import again  # noqa: PLC0415  # likewise

    return again.run(["prove", "--here", *sys.argv[2:]], is_as_it_is=True)
