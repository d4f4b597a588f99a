"""The application in a command that starts a server, for commands that load it by themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget.outputs import UsageError
from otel_fastpath.tools.common.program import LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Sequence

_SERVERS: Final = frozenset({"uvicorn", "gunicorn", "hypercorn", "granian", "daphne", "waitress-serve"})
_APPLICATION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*(\(\))?")
_PYTHON: Final = re.compile(r"python[\d.]*(\.exe)?")


# Options of `status` that are followed by a value.
_WITH_VALUES: Final = frozenset({"--allow", "--pid", "--html"})


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
    application = application_of(words[begin:])
    return [*options[:begin], application] if application else options


def _is_file(following: Sequence[str]) -> bool:
    """Whether what follows `--json` is a file; a module to load is none."""
    return following[:1] == ["-"] or bool(following and following[0].endswith(".json"))


def application_of(command: Sequence[str]) -> str:
    """The application that a command serves, e.g. "app:app"; empty if this is no command that starts a server.

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
            return f"{found}()" if "--factory" in words and not found.endswith("()") else found
    elif not is_python and not name.endswith(".py"):
        return ""
    raise UsageError(
        f"status {' '.join(command)}: expected an application, as in `otel-fastpath status app:app`; a program that "
        "is running is asked by --pid PID"
    )
