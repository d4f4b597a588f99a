"""What the commands write, and where: a table to the terminal, files in the formats that were asked for.

Importing this is cheap: a format is loaded when it is written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from otel_fastpath.budget.render.document import Document


class UsageError(Exception):
    """What was asked for cannot be done; the message is one line."""


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for files."""
    group = parser.add_argument_group("output", "a file name, or - for standard output")
    for name in ("json", "markdown", "svg", "html"):
        group.add_argument(f"--{name}", metavar="FILE")


def write(options: argparse.Namespace, document: Document, machine: dict[str, Any]) -> None:
    """Write a document, and its form for machines, to the terminal and to the files that were asked for."""
    import json  # noqa: PLC0415  # see the module's docstring

    from otel_fastpath.budget.render import chart, markdown, page, terminal  # noqa: PLC0415  # likewise

    texts: dict[str, Callable[[], str]] = {
        "json": lambda: json.dumps(machine, indent=1) + "\n",
        "markdown": lambda: markdown.render(document),
        "svg": lambda: chart.render(document),
        "html": lambda: page.render(document),
    }
    # One output may be piped on; the table then goes where it does not disturb.
    piped = any(getattr(options, name) == "-" for name in texts)
    screen = sys.stderr if piped else sys.stdout
    screen.write(terminal.render(document, colour=screen.isatty(), facts=False) + "\n")
    for name, make in texts.items():
        target = getattr(options, name)
        if target == "-":
            sys.stdout.write(make())
        elif target is not None:
            try:
                Path(target).write_text(make(), encoding="utf-8")
            except OSError as error:
                raise UsageError(f"--{name} {target}: {error.strerror}") from None
