"""The application in a command that starts a server, for commands that load it by themselves."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget.outputs import UsageError
from otel_fastpath.tools.common.program import LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Sequence

_SERVERS: Final = frozenset({"uvicorn", "gunicorn", "hypercorn", "granian", "daphne", "waitress-serve"})
_APPLICATION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*(\(\))?")
_PYTHON: Final = re.compile(r"python[\d.]*(\.exe)?")
# What says that the application is made by a call: uvicorn's and granian's option, and waitress's.
_MADE: Final = frozenset({"--factory", "--call"})
# The servers' options for the folder that it is imported from, with that of `status`.
_FOLDERS: Final = {"--app-dir": "--app-dir", "--chdir": "--chdir", "--working-dir": "--chdir"}
# Options of `status` that are followed by a value.
_WITH_VALUES: Final = frozenset({"--allow", "--pid", "--html", "--app-dir", "--chdir"})
# The others.
_WITHOUT: Final = frozenset({"-h", "--help", "--all", "--as-is", "--no-progress", "--here", "--json"})


def with_application(arguments: Sequence[str]) -> list[str]:
    """The arguments of `status`: a command that starts a server becomes its application.

    Raises:
        UsageError: See `application_of`.
    """
    words = list(arguments)
    begin = 0
    while begin < len(words) and words[begin].startswith("-"):
        has_value = words[begin] in _WITH_VALUES or (
            words[begin] == "--json" and _is_file(words[begin + 1 : begin + 2])
        )
        begin += 2 if has_value else 1
    # Where no file follows, the option stands for standard output.
    options = [
        "--json=-" if word == "--json" and not _is_file(words[index + 1 : index + 2]) else word
        for index, word in enumerate(words)
    ]
    command = words[begin:]
    application = application_of(command)
    return [*options[:begin], *_folder(command), application] if application else options


def _is_file(following: Sequence[str]) -> bool:
    """Whether what follows `--json` is a file; a module to load is none."""
    return any(each == "-" or each.endswith(".json") or os.sep in each for each in following)


def application_of(command: Sequence[str]) -> str:
    """The application that a command serves, e.g. "app:app"; empty if this is no command.

    Raises:
        UsageError: It is a command, and its application is not found.
    """
    words = list(command)
    if words and Path(words[0]).stem == LAUNCHER:
        del words[0]
    is_python = bool(words and _PYTHON.fullmatch(Path(words[0]).name))
    if is_python and words[1:2] == ["-m"]:
        del words[:2]
    name = Path(words[0]).name if words else ""
    if name in _SERVERS:
        found = next((word for word in words[1:] if _APPLICATION.fullmatch(word)), "")
        if found:
            return f"{found}()" if _MADE.intersection(words) and not found.endswith("()") else found
    elif not is_python and not name.endswith(".py") and not _has_options(words):
        return ""
    raise UsageError(
        f"status {' '.join(command)}: expected an application, as in `otel-fastpath status app:app`; a program that "
        "is running is asked by --pid PID"
    )


def _has_options(words: Sequence[str]) -> bool:
    """Whether a program that is not known here is given options: those of `status` may stand behind applications."""
    known = _WITH_VALUES | _WITHOUT
    given = {word.partition("=")[0] for word in words[1:] if word.startswith("-") and word != "-"}
    return bool(given - known) and shutil.which(words[0]) is not None


def _folder(command: Sequence[str]) -> list[str]:
    """The option of `status` for the folder that the server imports the application from."""
    for word, value in zip(command, [*command[1:], ""], strict=True):
        name, equals, given = word.partition("=")
        if name in _FOLDERS:
            return [f"{_FOLDERS[name]}={given if equals else value}"]
    return []
