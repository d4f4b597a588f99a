"""The exit statuses of the commands: their help, the table of docs/commands.md and the tests are made of this one."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """What a command ends with. Each command's help says what it means there."""

    SUCCESS = 0
    FAILURE = 1
    # As argparse has it.
    USAGE = 2
    INCONCLUSIVE = 3
    NOT_MEASURED = 4
    # As shells have it for a program that a signal or a broken pipe has ended.
    HUNG_UP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


_WRONG: Final = "an option, an argument or a file is wrong"
_DIFFERS: Final = "the telemetry differs"
_NOISE: Final = "a cost cannot be distinguished from noise"
_NO_FIGURE: Final = "there is no figure, and standard error has the reason"
# Command -> exit status -> what it means.
EXIT_CODES: Final[dict[str, dict[int, str]]] = {
    "status": {
        Exit.SUCCESS: "the status was printed",
        Exit.USAGE: f"{_WRONG}, the application cannot be loaded, or the process cannot be asked",
    },
    "run": {
        Exit.USAGE: "there is no command",
        127: "there is no such program; any other status is that of the program",
    },
    "try": {
        Exit.SUCCESS: "there is an answer, and the telemetry is the same",
        Exit.FAILURE: f"{_DIFFERS}: the next step shows each difference",
        Exit.USAGE: _WRONG,
        Exit.INCONCLUSIVE: _NOISE,
        Exit.NOT_MEASURED: _NO_FIGURE,
    },
    "bench": {
        Exit.SUCCESS: "there is a figure",
        Exit.USAGE: _WRONG,
        Exit.INCONCLUSIVE: f"{_NOISE}: use more `--rounds` or `--seconds`",
        Exit.NOT_MEASURED: _NO_FIGURE,
    },
    "verify": {
        Exit.SUCCESS: "the telemetry is the same",
        Exit.FAILURE: f"{_DIFFERS}; a table shows how",
        Exit.USAGE: _WRONG,
        Exit.NOT_MEASURED: "the program failed, or there is nothing to compare",
    },
    "prove": {
        Exit.SUCCESS: "no program shows a difference",
        Exit.FAILURE: "a program shows a difference, which is printed",
        Exit.USAGE: _WRONG,
        Exit.NOT_MEASURED: "nothing could be run",
    },
    "profile": {
        Exit.SUCCESS: (
            "there is a report, and the program did not fail by itself; if it did, the status is that of the program"
        ),
        Exit.USAGE: f"{_WRONG}, or nothing was recorded",
    },
    "budget": {
        Exit.SUCCESS: "no limit is exceeded",
        Exit.FAILURE: "a limit is exceeded",
        Exit.USAGE: _WRONG,
        Exit.INCONCLUSIVE: "with `--strict`: a limit is inconclusive",
        Exit.NOT_MEASURED: "nothing was measured; with `--strict`, also if something that is declared was not",
    },
    "docs": {Exit.SUCCESS: "the page or the list was printed", Exit.USAGE: f"{_WRONG}, or there is no such page"},
    "completion": {
        Exit.SUCCESS: "the script was printed",
        Exit.USAGE: "the shell is not known, or shtab is not installed",
    },
}
# Of each command.
ALWAYS: Final = {
    Exit.USAGE: "the output cannot be written, as to a full disk",
    Exit.HUNG_UP: "the terminal was closed (SIGHUP); what the command had started is stopped",
    Exit.INTERRUPTED: "the command was interrupted (Ctrl-C) before it had a result",
    Exit.BROKEN_PIPE: "what reads the output has ended, as `head` does; nothing is printed about it",
    Exit.TERMINATED: "the command was terminated (SIGTERM), as by `timeout`; what it had started is stopped",
}


def epilog(command: str) -> str:
    """The end of a command's help."""
    codes = EXIT_CODES[command] | {Exit.INTERRUPTED: "interrupted"}
    return "exit status: " + ", ".join(f"{code} {meaning}" for code, meaning in codes.items()).replace("`", "")
