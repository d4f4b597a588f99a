"""The `otel-fastpath` command, also `python -m otel_fastpath`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# The exit status for a command that cannot be executed, the same as argparse's.
_CANNOT = 2
_LEAST_WIDTH = 60
_SDK = "opentelemetry.sdk.trace.export"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command, and return the exit status."""
    options = _parser().parse_args(arguments)
    result: int = options.run(options)
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otel-fastpath", description="Makes OpenTelemetry for Python cheap without changing what it emits."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    status = commands.add_parser(
        "status",
        help="print what is patched, what is not, and why",
        description=(
            "Instruments this process as opentelemetry-instrument would, with the settings of the environment, imports "
            "OpenTelemetry's SDK and the named modules, and prints the state of every patch and wrapper."
        ),
    )
    status.add_argument("--json", action="store_true", help="print a JSON object instead of a table")
    status.add_argument(
        "modules", nargs="*", metavar="MODULE", help="import it first, as the service does (e.g. openai, app.main)"
    )
    status.set_defaults(run=_status)
    from otel_fastpath.budget.cli import add_commands  # noqa: PLC0415  # loads the options only

    add_commands(commands)
    return parser


def _status(options: argparse.Namespace) -> int:
    from otel_fastpath import settings, status  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.instrumentor import FastpathInstrumentor  # noqa: PLC0415  # likewise

    instrumentor = FastpathInstrumentor()
    notes = []
    # Output of imported modules must not be mixed with the table or JSON.
    with contextlib.redirect_stdout(sys.stderr):
        instrumentor.instrument()
        problem = _import(_SDK)
        if problem:
            notes.append(f"OpenTelemetry's SDK cannot be imported: {problem}")
        for name in options.modules:
            problem = _import(name)
            if problem:
                sys.stderr.write(f"otel-fastpath: {name} cannot be imported: {problem}\n")
                return _CANNOT
    if settings.loads_nothing():
        notes.append("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=*: opentelemetry-instrument loads none of this.")
    found = status.collect(instrumentor.status(), notes)
    width = max(shutil.get_terminal_size((100, 24)).columns, _LEAST_WIDTH)
    sys.stdout.write((status.as_json(found) if options.json else status.as_text(found, width)) + "\n")
    return 0


def _import(name: str) -> str:
    """Import a module, found as by `python -m`; returns the error in one line, or an empty string."""
    if os.getcwd() not in sys.path:  # noqa: PTH109  # sys.path holds strings
        sys.path.insert(0, os.getcwd())  # noqa: PTH109  # likewise
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:  # an application's module may raise anything when it is imported
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


if __name__ == "__main__":
    sys.exit(main())
