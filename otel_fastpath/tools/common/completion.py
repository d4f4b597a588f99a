"""`otel-fastpath completion`: a script that completes commands and options, made by shtab from the parser.

The script is static: a press of the Tab key starts no Python. shtab is needed once only, so it is an optional extra.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.cli import run_guarded
from otel_fastpath.tools.budget.outputs import UsageError
from otel_fastpath.tools.common import exit_codes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

SHELLS: Final = ("bash", "zsh", "fish")


def add_command(commands: Any, make_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command to argparse's `add_subparsers()`.

    Args:
        commands: What that returned.
        make_parser: Makes the parser of all commands.
    """
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in your shell",
        description="Prints the script; `otel-fastpath docs commands` shows where it belongs. It is made by shtab.",
        epilog=exit_codes.epilog("completion"),
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(run=lambda options: run_guarded(lambda: _print(options.shell, make_parser())))


def _print(shell: str, parser: argparse.ArgumentParser) -> int:
    try:
        import shtab  # noqa: PLC0415  # an optional extra
    except ModuleNotFoundError:
        raise UsageError("shtab is not installed: pip install 'otel-fastpath[completion]'") from None
    sys.stdout.write(shtab.complete(parser, shell=shell))
    return 0
