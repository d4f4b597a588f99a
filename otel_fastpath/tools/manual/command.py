"""`otel-fastpath docs`: prints a page, writes it to files, or opens it in a browser."""

from __future__ import annotations

import json
import sys
import webbrowser
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import interpreter
from otel_fastpath.tools.budget.outputs import UsageError, write_text
from otel_fastpath.tools.manual import packaged_pages, page_html

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    name = packaged_pages.find(options.page) if options.page else ""
    if options.open:
        return _open(name or packaged_pages.INDEX)
    made = {
        "json": lambda: json.dumps(_machine(name), indent=1) + "\n",
        "html": lambda: _html(name or packaged_pages.INDEX),
    }
    wanted = {each: getattr(options, each) for each in made if getattr(options, each) is not None}
    for each, target in wanted.items():
        write_text(each, target, made[each]())
    if not wanted:
        sys.stdout.write(packaged_pages.text(name) if name else _list())
    return 0


def _list() -> str:
    found = packaged_pages.pages()
    width = max(len(page.name) for page in found)
    lines = []
    for heading, group in groupby(found, lambda page: page.heading):
        lines += ["", heading, *(f"  {page.name:{width}}  {page.task or page.title}" for page in group)]
    return "\n".join([*lines[1:], "", "`otel-fastpath docs PAGE` prints a page, and `--open` opens it.", ""])


def _machine(name: str) -> Any:
    found = [{"name": page.name, "title": page.title, "task": page.task} for page in packaged_pages.pages()]
    if not name:
        return found
    (page,) = (each for each in found if each["name"] == name)
    return {**page, "text": packaged_pages.text(name)}


def _html(name: str) -> str:
    return page_html.render(packaged_pages.text(name), f"otel-fastpath {interpreter.version('otel-fastpath')}")


def _open(name: str) -> int:
    """Write all pages, because they link to each other, and open this one."""
    folder = Path.home() / ".cache" / "otel-fastpath" / f"docs-{interpreter.version('otel-fastpath')}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"docs --open: {folder} cannot be made: {error.strerror}") from None
    for each in packaged_pages.paths():
        write_text("open", str(folder / f"{each}.html"), _html(each))
    address = (folder / f"{name}.html").as_uri()
    if not webbrowser.open(address):
        raise UsageError(f"docs --open: there is no web browser here; the page is {address}")
    sys.stdout.write(f"{address}\n")
    return 0
