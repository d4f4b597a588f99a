"""The options that the commands share, and what a command says about those that make no sense for it."""

from __future__ import annotations

import argparse
import math
from typing import Any, Final, NamedTuple

from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.common.exit_codes import Exit


class _SharedOption(NamedTuple):
    """An option of several commands: what it is for, and what to run instead where it makes no sense."""

    purpose: str
    instead: str


_SHARED: Final = {
    "--pid": _SharedOption(
        "look at a running process", "`otel-fastpath status --pid PID` or `otel-fastpath profile --pid PID`"
    ),
    "--url": _SharedOption("send requests to a service", "`otel-fastpath try --url URL COMMAND`"),
    "--json": _SharedOption("have a report for machines", "`otel-fastpath budget check --json FILE`"),
    "--html": _SharedOption("have a report as a page", "`otel-fastpath budget check --html FILE`"),
    "COMMAND": _SharedOption(
        "run a program of your own",
        "`otel-fastpath try COMMAND`, or `otel-fastpath verify COMMAND`, which compares only",
    ),
}
_STATUSES: Final = range(100, 600)
# Command -> the shared options that make no sense for it, and why.
REFUSED: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "status": (("--url",), "it sends no requests"),
    "try": (("--pid",), "it starts the service several times"),
    "bench": (("--pid",), "it starts what it measures"),
    "verify": (("--pid",), "it starts the program several times"),
    "prove": (("--pid", "--url", "COMMAND"), "it runs programs of its own"),
    "profile": ((), ""),
    "budget": (("--pid", "--url"), "it runs the scenarios of a file"),
    "docs": (("--pid", "--url"), "it shows pages"),
    "budget calibrate": (("--pid", "--url", "--json", "--html"), "it writes the lock file only"),
    "budget explain": (("--pid", "--url", "--json", "--html"), "it prints a text"),
    "budget schema": (("--pid", "--url", "--html"), "it prints a JSON schema, and nothing else"),
}


class _Refuse(argparse.Action):
    """Says in one sentence which command has the option, and ends the process; of a COMMAND, `__main__` says it."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        # Without a value, argparse gives the constant.
        given = values if isinstance(values, list) else [] if values is self.const else [values]
        if option is None and not given:
            return
        command, why = self.const
        refused = f"{' '.join(filter(None, (command, option, *given)))}: {why}"
        if option is None:
            # What stands here may be the value of an option that does not exist: that is said instead.
            options.refused = refused
            return
        complain(refused)
        parser.exit(Exit.USAGE)


def add_refused(parser: Any, command: str) -> None:
    """Add the shared options that make no sense for a command."""
    options, why = REFUSED[command]
    for option in options:
        purpose, instead = _SHARED[option]
        is_command = option == "COMMAND"
        # The name of an option that nobody reads, so that none of the command's own is changed.
        parser.add_argument(
            "refused_command" if is_command else option,
            action=_Refuse,
            nargs=argparse.REMAINDER if is_command else "?",
            const=(command, f"{why}; to {purpose}, use {instead}"),
            help=argparse.SUPPRESS,
            **({} if is_command else {"dest": f"refused_{option[2:]}"}),
        )


def add_progress(parser: Any, *, is_quick: bool = False) -> None:
    """Add the option of all commands; one that is quick has no progress bar anyway, and its help does not name it."""
    text = argparse.SUPPRESS if is_quick else "no progress bar"
    parser.add_argument("--no-progress", action="store_true", help=text)


def add_allow(parser: Any) -> None:
    """Add the option of all commands that start programs."""
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="what the program may reach besides the loopback interface, e.g. its database; anything else is refused",
    )


def add_service(parser: Any) -> None:
    """Add the options of the commands that send requests to a service."""
    add_clients(parser)
    parser.add_argument(
        "--as-is",
        action="store_true",
        help="COMMAND sets OpenTelemetry up by itself (default: find out, else run it by opentelemetry-instrument)",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="starts the service")


def add_clients(parser: Any) -> None:
    """Add the options for the requests."""
    parser.add_argument("--clients", type=count, default=8, metavar="N", help="clients at a time (default 8)")
    parser.add_argument(
        "--status",
        type=_http_status,
        action="append",
        default=[],
        metavar="CODE",
        help="the status of answers that count (default: all below 400)",
    )


def count(text: str) -> int:
    """A number from 1 upwards.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 1 upwards")
    return int(text)


def _http_status(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) in _STATUSES):
        raise argparse.ArgumentTypeError(f"{text}: expected a status of HTTP, from {_STATUSES[0]} to {_STATUSES[-1]}")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not 0 < (number := as_number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of seconds above 0")
    return number


def pause(text: str) -> float:
    """A time that may be 0.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not 0 <= (number := as_number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of seconds from 0 upwards")
    return number


def as_number(text: str) -> float:
    """The number that a text has; not a number if it has none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def process(text: str) -> int:
    """The id of a process.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text}: expected the id of a process, a number")
    return int(text)
