"""The options of `otel-fastpath docs`. Importing this module is cheap: the command is loaded when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.tools.budget.cli import run_guarded
from otel_fastpath.tools.common import exit_codes
from otel_fastpath.tools.common.arguments import add_progress, add_refused

if TYPE_CHECKING:
    import argparse


def add_command(commands: Any) -> None:
    """Add the command to argparse's `add_subparsers()`."""
    parser = commands.add_parser(
        "docs",
        help="print a page of the documentation, or the list of all pages",
        description=(
            "Prints a page of the documentation of this release, in Markdown; without PAGE, the list of all pages."
        ),
        epilog=exit_codes.epilog("docs"),
    )
    parser.add_argument("page", nargs="?", default="", metavar="PAGE", help="the name of a page, e.g. settings")
    parser.add_argument("--open", action="store_true", help="open the page in a web browser instead")
    group = parser.add_argument_group("output", "a file name, or - for standard output")
    group.add_argument("--json", metavar="FILE", help="the list of the pages, or the page with its title")
    group.add_argument("--html", metavar="FILE", help="the page as HTML")
    add_progress(parser, is_quick=True)
    add_refused(parser, "docs")
    parser.set_defaults(run=lambda options: run_guarded(lambda: _run(options)))


def _run(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.manual import command  # noqa: PLC0415  # see the module's docstring

    return command.run(options)
