"""The `otel-fastpath` command, also `python -m otel_fastpath`."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# The exit status for a command that cannot be executed, the same as argparse's.
_CANNOT = 2
# What shells report for a program that a broken pipe has ended.
_BROKEN_PIPE = 141
# Why output cannot be written.
_FULL = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
_LEAST_WIDTH = 60
_SDK = "opentelemetry.sdk.trace.export"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command, and return the exit status. Without one, print the help to stderr; the status is 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:2] == ["run", "--"]:
        del arguments[1]
    if arguments[:1] == ["run"] and arguments[1:2] and not arguments[1].startswith("-"):
        return _run(arguments[1:])
    try:
        try:
            result = _command(arguments)
        finally:
            # Also of a command that ends the process, such as --help.
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads the output has seen enough, e.g. `head`.
        _discard_output()
        return _BROKEN_PIPE
    except OSError as error:
        if error.errno not in _FULL:
            raise
        from otel_fastpath.status import exchange  # noqa: PLC0415  # not needed by other commands

        exchange.complain(f"the output cannot be written: {error.strerror}")
        _discard_output()
        return _CANNOT
    return result


def _discard_output() -> None:
    """Discard what cannot be written: Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(arguments: Sequence[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.version:
        return _version()
    if not hasattr(options, "run"):
        parser.print_help(sys.stderr)
        return _CANNOT
    result: int = options.run(options)
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otel-fastpath", description="Makes OpenTelemetry for Python cheap without changing what it emits."
    )
    parser.add_argument("--version", action="store_true", help="print the version, and which build of it is installed")
    from otel_fastpath.tools.common.arguments import add_allow  # noqa: PLC0415  # loads the options only

    commands = parser.add_subparsers(metavar="COMMAND")
    status = commands.add_parser(
        "status",
        help="print what is patched, what is not, and why",
        description=(
            "Starts a process under opentelemetry-instrument, with the settings of the environment, in which "
            "OpenTelemetry's SDK and the named modules are imported and ASGI applications started, and prints the "
            "state of every patch and wrapper there. Nothing but the loopback interface can be reached. "
            "With a process id, prints the status of that process, if it has the same OTEL_FASTPATH_STATUS_FOLDER."
        ),
    )
    status.add_argument("--json", action="store_true", help="print a JSON object with each patch instead of a table")
    status.add_argument(
        "--all",
        action="store_true",
        help="print each patch, also those for modules that are not installed, and import each instrumentation that "
        "opentelemetry-instrument would load, to find those that fail",
    )
    status.add_argument(
        "--as-is",
        action="store_true",
        help="without opentelemetry-instrument, because the application sets OpenTelemetry up by itself",
    )
    add_allow(status)
    status.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    status.add_argument(
        "modules",
        nargs="*",
        metavar="PID|MODULE[:APP]",
        help="a process to ask, or modules and applications to load first, as the service does (e.g. openai, app:app)",
    )
    status.set_defaults(run=_status)
    run = commands.add_parser(
        "run",
        help="run a command with OpenTelemetry set up",
        usage="otel-fastpath run [--] COMMAND [ARGUMENT ...]",
        description=(
            "Runs a command as opentelemetry-instrument does; the settings are those of the environment. A Python "
            "program of this environment is run by this interpreter, not by another one."
        ),
    )
    run.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    run.set_defaults(run=lambda options: _run(options.command or run.error("a command is required")))
    from otel_fastpath.tools.budget.cli import add_commands  # noqa: PLC0415  # loads the options only
    from otel_fastpath.tools.profile import cli as profile  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.prove import cli as prove  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.trial import cli as trial  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.verify import cli as verify  # noqa: PLC0415  # likewise

    for add in (trial.add_command, add_commands, verify.add_command, prove.add_command, profile.add_commands):
        add(commands)
    return parser


def _run(command: Sequence[str]) -> int:
    from otel_fastpath.start import run  # noqa: PLC0415  # not needed by other commands

    return run.run(command)


def _version() -> int:
    from otel_fastpath.status import state  # noqa: PLC0415  # not needed by other commands

    found = state.collect(())
    sys.stdout.write(state.title(found) + "\n")
    return 0


def _status_of(process: int, form: str) -> int:
    from otel_fastpath import settings  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.status import exchange, running  # noqa: PLC0415  # not needed by other commands

    folder = settings.status_folder()
    if not folder:
        exchange.complain(
            f"process {process} cannot be asked: set OTEL_FASTPATH_STATUS_FOLDER to the folder that it has it set to"
        )
        return _CANNOT
    try:
        found = running.ask(folder, process)
    except (OSError, ValueError) as error:
        exchange.complain(error)
        return _CANNOT
    # A process with an older version has no whole text.
    sys.stdout.write(found.get(form, found["text"]) + "\n")
    return 0


def _status(options: argparse.Namespace) -> int:
    if len(options.modules) == 1 and options.modules[0].isdecimal():
        form = "json" if options.json else "whole" if options.all else "text"
        return _status_of(int(options.modules[0]), form)
    from otel_fastpath.status import exchange  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.tools.common import again, application  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.common.loopback import AllowError  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.common.program import ProgramError  # noqa: PLC0415  # likewise

    try:
        # A process without `site` has its own packages, which another one would not have.
        if options.here or sys.flags.no_site:
            return _status_here(options, application)
        asked = [name for name in ("json", "all", "as_is") if getattr(options, name)]
        arguments = ["status", "--here", *(f"--{name.replace('_', '-')}" for name in asked), "--", *options.modules]
        return again.run(arguments, options.allow, is_as_it_is=options.as_is)
    except (AllowError, ProgramError, application.ApplicationError) as error:
        exchange.complain(error)
        return _CANNOT


def _status_here(options: argparse.Namespace, application: Any) -> int:
    from otel_fastpath import settings, status  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.instrumentor import FastpathInstrumentor  # noqa: PLC0415  # likewise
    from otel_fastpath.status import loading  # noqa: PLC0415  # not needed by other commands

    instrumentor = FastpathInstrumentor()
    notes = []
    # Output of imported modules must not be mixed with the table or JSON.
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as running:
        try:
            importlib.import_module(_SDK)
        except Exception as error:  # whatever is wrong with it is worth a note
            notes.append(f"OpenTelemetry's SDK cannot be imported: {application.one_line(error)}")
        for name in options.modules:
            problem = running.enter_context(application.started(application.load(name)))
            if problem:
                notes.append(f"{name} could not be started, so that what follows may lack something: {problem}")
        if not options.as_is and not instrumentor.is_instrumented_by_opentelemetry:
            # What opentelemetry-instrument was told to leave out would do this.
            instrumentor.instrument()
        # Before instrumentations are imported, which imports their libraries, too.
        rows = instrumentor.status()
        not_loaded = list(loading.problems(settings.disabled_instrumentations(), imports=options.all))
    if settings.loads_nothing():
        notes.append("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=*: opentelemetry-instrument loads none of this.")
    found = status.collect(rows, notes, not_loaded)
    if options.json:
        text = status.as_json(found)
    else:
        width = max(shutil.get_terminal_size((100, 24)).columns, _LEAST_WIDTH)
        is_coloured = sys.stdout.isatty() and settings.wants_colour()
        text = status.as_text(found, width, is_whole=options.all, is_coloured=is_coloured)
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
