"""The output of the commands: a table for the terminal, and files in the requested formats.

Importing this module is cheap: a format's module is loaded when it is written.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from otel_fastpath.tools.common.render.document import Document

_MOST_NAMES: Final = 8


class UsageError(Exception):
    """The request cannot be carried out; the message is one line."""


def one_of(names: Iterable[str], given: str) -> str:
    """The names as an enumeration for an error; of many, those that are most like what was given."""
    known = list(names)
    is_long = len(known) > _MOST_NAMES
    shown = difflib.get_close_matches(given, known, _MOST_NAMES, cutoff=0.0) if is_long else known
    # A name may have a comma itself.
    text = ", ".join(f'"{name}"' if "," in name else name for name in shown)
    return f"{len(known)} names such as {text}" if is_long else text


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for output files."""
    group = parser.add_argument_group("output", "a file name, or - for standard output")
    for name in ("json", "markdown", "svg", "html"):
        group.add_argument(f"--{name}", metavar="FILE")


def write(options: argparse.Namespace, document: Document, machine: dict[str, Any]) -> None:
    """Write a document to the terminal, and to the requested files, including its machine-readable form."""
    import json  # noqa: PLC0415  # see the module's docstring

    from otel_fastpath.tools.common.render import chart, markdown, page, terminal  # noqa: PLC0415  # likewise

    texts: dict[str, Callable[[], str]] = {
        "json": lambda: json.dumps(machine, indent=1) + "\n",
        "markdown": lambda: markdown.render(document),
        "svg": lambda: chart.render(document),
        "html": lambda: page.render(document),
    }
    # If an output goes to standard output, it may be piped; the table then goes to standard error.
    piped = any(getattr(options, name) == "-" for name in texts)
    screen = sys.stderr if piped else sys.stdout
    screen.write(terminal.render(document, colour=screen.isatty(), facts=False) + "\n")
    for name, make in texts.items():
        target = getattr(options, name)
        if target is not None:
            write_text(name, target, make())


def write_text(name: str, target: str, text: str) -> int:
    """Write the output of an option of this name; returns the exit status 0.

    Args:
        name: Of the option.
        target: A file, or - for standard output.
        text: The output.

    Raises:
        UsageError: The file cannot be written.
    """
    if target == "-":
        sys.stdout.write(text)
        return 0
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--{name} {target}: {error.strerror}") from None
    return 0
