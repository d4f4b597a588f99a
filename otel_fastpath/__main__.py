"""The `otel-fastpath` command, also `python -m otel_fastpath`."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import json
import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# Why output cannot be written.
_FULL = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
_LEAST_WIDTH = 60
# Exit statuses above it stand for signals.
_SIGNALLED = 128
# Of the status, besides its text.
_FORMS = ("json", "html")
_SDK = "opentelemetry.sdk.trace.export"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command, and return the exit status. Without one, print the help to stderr; the status is 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:2] == ["run", "--"]:
        del arguments[1]
    if arguments[:1] == ["run"] and arguments[1:2] and not arguments[1].startswith("-"):
        return _run(arguments[1:])
    from otel_fastpath.tools.common.exit_codes import Exit  # noqa: PLC0415  # a program that is run needs no tools

    _open_what_is_closed()
    _end_in_order(Exit.TERMINATED, Exit.HUNG_UP)
    try:
        try:
            result = _command(arguments)
        finally:
            # Also of a command that ends the process, such as --help.
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads the output has seen enough, e.g. `head`.
        _discard_output()
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            sys.stderr.write("otel-fastpath: interrupted\n")
        return Exit.INTERRUPTED
    except OSError as error:
        if error.errno not in _FULL:
            raise
        from otel_fastpath.status import exchange  # noqa: PLC0415  # not needed by other commands

        exchange.complain(f"the output cannot be written: {error.strerror}")
        _discard_output()
        return Exit.USAGE
    return result


def _end_in_order(*statuses: int) -> None:
    """Let a signal end the command as Ctrl-C does, by an exception, so that what it has started is stopped.

    Args:
        statuses: 128 and the number of a signal each: the exit status for it.
    """

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # stopping may take a while
        raise SystemExit(_SIGNALLED + number)

    for status in statuses:
        # Not in a thread, and not where somebody else handles or ignores it, as `nohup` does.
        with contextlib.suppress(ValueError):
            if signal.getsignal(status - _SIGNALLED) is signal.SIG_DFL:
                signal.signal(status - _SIGNALLED, end)


def _open_what_is_closed() -> None:
    """Let what is written to a stream that the caller has closed (`>&-`), for which Python has None, go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  # open to the end


def _discard_output() -> None:
    """Discard what cannot be written, also to stderr if it is the same pipe: Python would try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # noqa: PERF203  # there are two
            os.dup2(nowhere, stream.fileno())


def _command(arguments: Sequence[str]) -> int:
    from otel_fastpath.tools.common.exit_codes import Exit  # noqa: PLC0415  # see main

    parser = _parser()
    if arguments[:1] == ["status"]:
        from otel_fastpath.status import exchange  # noqa: PLC0415  # not needed by other commands
        from otel_fastpath.tools.budget.outputs import UsageError  # noqa: PLC0415  # likewise
        from otel_fastpath.tools.common import served_application  # noqa: PLC0415  # likewise

        try:
            arguments = ["status", *served_application.with_application(arguments[1:])]
        except UsageError as error:
            exchange.complain(error)
            return Exit.USAGE
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        from otel_fastpath.status import exchange  # noqa: PLC0415  # not needed by other commands

        command = "otel-fastpath" if arguments[0].startswith("-") else f"otel-fastpath {arguments[0]}"
        exchange.complain(f"{' '.join(unknown)}: not expected here; `{command} --help` names what is")
        return Exit.USAGE
    if refused := getattr(options, "refused", ""):
        from otel_fastpath.status import exchange  # noqa: PLC0415  # not needed by other commands

        exchange.complain(refused)
        return Exit.USAGE
    if options.version:
        return _version()
    if not hasattr(options, "run"):
        parser.print_help(sys.stderr)
        return Exit.USAGE
    result: int = options.run(options)
    return result


def _parser() -> argparse.ArgumentParser:
    from otel_fastpath.tools.common.command_parser import CommandParser  # noqa: PLC0415  # loads the options only

    parser = CommandParser(
        prog="otel-fastpath", description="Makes OpenTelemetry for Python cheap without changing what it emits."
    )
    parser.add_argument("--version", action="store_true", help="print the version, and which build of it is installed")
    commands = parser.add_subparsers(metavar="COMMAND")
    _add_status(commands)
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
    run.set_defaults(
        run=lambda options: _run(
            options.command or run.error("a command is required: otel-fastpath run [--] COMMAND [ARGUMENT ...]")
        )
    )
    from otel_fastpath.tools.budget.cli import add_commands  # noqa: PLC0415  # loads the options only
    from otel_fastpath.tools.common import completion  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.manual import cli as manual  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.profile import cli as profile  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.prove import cli as prove  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.trial import cli as trial  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.verify import cli as verify  # noqa: PLC0415  # likewise

    for add in (
        trial.add_command,
        add_commands,
        verify.add_command,
        prove.add_command,
        profile.add_commands,
        manual.add_command,
    ):
        add(commands)
    completion.add_command(commands, _parser)
    return parser


def _add_status(commands: Any) -> None:
    from otel_fastpath.tools.common import arguments, exit_codes  # noqa: PLC0415  # loads the options only

    status = commands.add_parser(
        "status",
        help="print what is patched, what is not, and why",
        description=(
            "Starts a process under opentelemetry-instrument, with the settings of the environment, in which "
            "OpenTelemetry's SDK and the named modules are imported and ASGI applications started, and prints the "
            "state of every patch and wrapper there. Nothing but the loopback interface can be reached. "
            "With --pid, prints the status of that process, if it has the same OTEL_FASTPATH_STATUS_FOLDER."
        ),
        epilog=exit_codes.epilog("status"),
    )
    status.add_argument("--pid", type=arguments.process, help="a running process, instead of an application")
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
    arguments.add_allow(status)
    arguments.add_progress(status, is_quick=True)
    arguments.add_refused(status, "status")
    group = status.add_argument_group("output", "a file name, or - for standard output")
    group.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="a JSON object with each patch (default -); FILE ends in .json or has a folder, or else write --json=FILE",
    )
    group.add_argument("--html", metavar="FILE", help="one page with each patch of what is installed")
    status.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    status.add_argument(
        "--app-dir", default="", metavar="DIR", help="the folder to import applications from (default: this one)"
    )
    # As gunicorn has it: the application finds its files from there, too.
    status.add_argument("--chdir", default="", help=argparse.SUPPRESS)
    status.add_argument(
        "modules",
        nargs="*",
        metavar="PID|MODULE[:APP]|COMMAND",
        help="a process to ask, or modules and applications to load first, as the service does (e.g. openai, app:app), "
        "or the command that starts the service (e.g. uvicorn app:app)",
    )
    status.set_defaults(run=_status)


def _run(command: Sequence[str]) -> int:
    from otel_fastpath.start import run  # noqa: PLC0415  # not needed by other commands

    return run.run(command)


def _version() -> int:
    from otel_fastpath.status import state  # noqa: PLC0415  # not needed by other commands

    found = state.collect(())
    sys.stdout.write(state.title(found) + "\n")
    return 0


def _status(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.budget.cli import run_guarded  # noqa: PLC0415  # not needed by other commands

    return run_guarded(lambda: _run_status(options))


def _run_status(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.budget.outputs import UsageError  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.tools.common import again, application  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.common.loopback import AllowError  # noqa: PLC0415  # likewise
    from otel_fastpath.tools.common.program import ProgramError  # noqa: PLC0415  # likewise

    if len(options.modules) == 1 and options.modules[0].isdecimal() and options.pid is None:
        options.pid = int(options.modules.pop())
    if options.pid is not None:
        if options.modules:
            raise UsageError(f"status --pid {options.pid} {' '.join(options.modules)}: expected one of both")
        return _status_of(options)
    try:
        # A process without `site` has its own packages, which another one would not have.
        if options.here or sys.flags.no_site:
            # What is loaded stays loaded: a second import of it here would be another one.
            return _status_here(options, application)
        asked = [f"--{name.replace('_', '-')}" for name in ("all", "as_is") if getattr(options, name)]
        values = ("app_dir", "chdir", *_FORMS)
        given = [f"--{name.replace('_', '-')}={value}" for name in values if (value := getattr(options, name))]
        arguments = ["status", "--here", *asked, *given, "--", *options.modules]
        return again.run(arguments, options.allow, is_as_it_is=options.as_is)
    except (AllowError, ProgramError, application.ApplicationError) as error:
        raise UsageError(str(error)) from None


def _status_of(options: argparse.Namespace) -> int:
    from otel_fastpath import settings  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.status import running  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.tools.budget.outputs import UsageError  # noqa: PLC0415  # likewise

    folder = settings.status_folder()
    if not folder:
        raise UsageError(
            f"process {options.pid} cannot be asked: set OTEL_FASTPATH_STATUS_FOLDER to the folder that it has there"
        )
    try:
        found = running.ask(folder, options.pid)
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from None
    # A process with an older version has no whole text.
    text = found["text"] if not options.all else found.get("whole", found["text"])
    try:
        return _write_status(options, text, found.get("json", ""))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # An older version, or a process that answers something else.
        raise UsageError(f"status --pid {options.pid}: its answer is not a status ({error!r})") from None


def _write_status(options: argparse.Namespace, text: str, machine: str) -> int:
    from otel_fastpath.tools.budget.outputs import write_text  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.tools.common.render import page, status_report  # noqa: PLC0415  # likewise

    if "-" not in (options.json, options.html):
        sys.stdout.write(text + "\n")
    if options.json is not None:
        write_text("json", options.json, machine + "\n")
    if options.html is not None:
        write_text("html", options.html, page.render(status_report.document(json.loads(machine))))
    return 0


def _change_folder(options: argparse.Namespace) -> None:
    from otel_fastpath.tools.budget.outputs import UsageError  # noqa: PLC0415  # not needed by other commands

    for name in _FORMS:
        if getattr(options, name) not in {None, "-"}:
            setattr(options, name, os.path.abspath(getattr(options, name)))  # noqa: PTH100  # a string, as it was
    try:
        os.chdir(options.chdir)
    except OSError as error:
        raise UsageError(f"--chdir {options.chdir}: {error.strerror}") from None


def _status_here(options: argparse.Namespace, application: Any) -> int:
    from otel_fastpath import settings, status  # noqa: PLC0415  # not needed by other commands
    from otel_fastpath.instrumentor import FastpathInstrumentor  # noqa: PLC0415  # likewise
    from otel_fastpath.status import loading  # noqa: PLC0415  # not needed by other commands

    instrumentor = FastpathInstrumentor()
    notes = []
    if options.chdir:
        _change_folder(options)
    # Output of imported modules must not be mixed with the table or JSON.
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as running:
        try:
            importlib.import_module(_SDK)
        except Exception as error:  # whatever is wrong with it is worth a note
            notes.append(f"OpenTelemetry's SDK cannot be imported: {application.one_line(error)}")
        for name in options.modules:
            problem = running.enter_context(application.started(application.load(name, options.app_dir)))
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
    width = max(shutil.get_terminal_size((100, 24)).columns, _LEAST_WIDTH)
    is_coloured = sys.stdout.isatty() and settings.wants_colour()
    text = status.as_text(found, width, is_whole=options.all, is_coloured=is_coloured)
    return _write_status(options, text, status.as_json(found))


if __name__ == "__main__":
    sys.exit(main())
