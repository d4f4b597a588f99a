"""The exit statuses of the commands: their help, the table of docs/commands.md and the tests are made of this one."""

from __future__ import annotations

from typing import Final

# As argparse has it; that of shells for a program that SIGINT or a broken pipe has ended.
USAGE: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_WRONG: Final = "an option, an argument or a file is wrong"
_DIFFERS: Final = "the telemetry differs"
_NOISE: Final = "a cost cannot be distinguished from noise"
_NO_FIGURE: Final = "there is no figure, and standard error has the reason"
# Command -> exit status -> what it means.
EXIT_CODES: Final[dict[str, dict[int, str]]] = {
    "status": {
        0: "the status was printed",
        USAGE: f"{_WRONG}, the application cannot be loaded, or the process cannot be asked",
    },
    "run": {
        USAGE: "there is no command",
        127: "there is no such program; any other status is that of the program",
    },
    "try": {
        0: "there is an answer, and the telemetry is the same",
        1: f"{_DIFFERS}: the next step shows each difference",
        USAGE: _WRONG,
        3: _NOISE,
        4: _NO_FIGURE,
    },
    "bench": {0: "there is a figure", USAGE: _WRONG, 3: f"{_NOISE}: use more `--rounds` or `--seconds`", 4: _NO_FIGURE},
    "verify": {
        0: "the telemetry is the same",
        1: f"{_DIFFERS}; a table shows how",
        USAGE: _WRONG,
        4: "the program failed, or there is nothing to compare",
    },
    "prove": {
        0: "no program shows a difference",
        1: "a program shows a difference, which is printed",
        USAGE: _WRONG,
        4: "nothing could be run",
    },
    "profile": {
        0: "there is a report, and the program did not fail by itself; if it did, the status is that of the program",
        USAGE: f"{_WRONG}, or nothing was recorded",
    },
    "budget": {
        0: "no limit is exceeded",
        1: "a limit is exceeded",
        USAGE: _WRONG,
        3: "with `--strict`: a limit is inconclusive",
        4: "nothing was measured; with `--strict`, also if something that is declared was not",
    },
    "docs": {0: "the page or the list was printed", USAGE: f"{_WRONG}, or there is no such page"},
    "completion": {0: "the script was printed", USAGE: "the shell is not known, or shtab is not installed"},
}
# Of each command.
ALWAYS: Final = {
    USAGE: "the output cannot be written, as to a full disk",
    INTERRUPTED: "the command was interrupted (Ctrl-C) before it had a result",
    BROKEN_PIPE: "what reads the output has ended, as `head` does; nothing is printed about it",
}


def epilog(command: str) -> str:
    """The end of a command's help."""
    codes = EXIT_CODES[command] | {INTERRUPTED: "interrupted"}
    return "exit status: " + ", ".join(f"{code} {meaning}" for code, meaning in codes.items()).replace("`", "")
