"""The pages of the documentation: where they are, what they are about, and their text."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Final, NamedTuple

from otel_fastpath.tools.budget.outputs import UsageError

INDEX: Final = "index"
_CHANGELOG: Final = "changelog"
_MOST_NEAR: Final = 3
_ROW: Final = re.compile(r"^\| (.+?) \| \[[^\]]+\]\(([\w-]+)\.md\) \|$")
# The site shows the description of a name there.
_DESCRIBED: Final = re.compile(r"^::: (\S+)\n(?:    .*\n)*", re.MULTILINE)
_COMMENT: Final = re.compile(r"^<!--.*?-->\n+", re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A page, its first heading, what its reader wants to do, and the heading of the index that it is below."""

    name: str
    title: str
    task: str
    heading: str


def paths() -> dict[str, Path]:
    """The file of each page: in the package, or in the repository if the package is run from there."""
    package = Path(__file__).parents[2]
    folder = package / "docs"
    if folder.is_dir():
        return {path.stem: path for path in sorted(folder.glob("*.md"))}
    root = package.parent
    found = {path.stem: path for path in sorted((root / "docs").glob("*.md"))}
    return {**found, _CHANGELOG: root / "CHANGELOG.md"}


def pages() -> list[Page]:
    """All pages, in the order of the index; those that it does not name come last."""
    files = paths()
    tasks: dict[str, tuple[str, str]] = {}
    heading = ""
    for line in files[INDEX].read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif (row := _ROW.match(line)) and row[2] in files:
            tasks[row[2]] = (row[1], heading)
    rest = [name for name in files if name not in tasks]
    return [Page(name, _title(files[name]), *tasks.get(name, ("", "More"))) for name in [*tasks, *rest]]


def find(given: str) -> str:
    """The name of the page that is meant: the case and what surrounds the name in a link do not matter.

    Raises:
        UsageError: There is none; the message names those that are near.
    """
    known = paths()
    name = given.rpartition("/")[2].partition("#")[0].lower()
    name = name.removesuffix(".md").removesuffix(".html").replace("_", "-")
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, _MOST_NEAR) or [each for each in known if name and name in each]
    like = f"; near it: {', '.join(near[:_MOST_NEAR])}" if near else ""
    raise UsageError(f"docs {given}: expected the name of a page{like}; `otel-fastpath docs` lists all")


def text(name: str) -> str:
    """The text of a page, in Markdown."""
    found = _COMMENT.sub("", paths()[name].read_text(encoding="utf-8"))
    return _DESCRIBED.sub(r"    python -m pydoc \1\n", found)


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("# ").strip()
