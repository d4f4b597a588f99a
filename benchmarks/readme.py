"""Inserts generated tables into a page: `python benchmarks/readme.py README.md demo=build/demo/result.md ...`.

Each NAME=FILE replaces the text between `<!-- NAME: begin -->` and `<!-- NAME: end -->`. A heading at the beginning of
the text is left out, because the page has its own. No figure on the page is typed by hand: each is a command's output
that this script inserts.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def insert(page: str, name: str, table: str) -> str:
    """Replace the part of the page between the marks of this name.

    Raises:
        ValueError: The page has no such marks.
    """
    marks = re.compile(rf"(<!-- {re.escape(name)}: begin -->\n).*?(<!-- {re.escape(name)}: end -->)", re.DOTALL)
    text = re.sub(r"\A#+ [^\n]*\n", "", table.strip()).strip()
    changed, found = marks.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)
    if found != 1:
        raise ValueError(f"expected one part {name!r} between <!-- {name}: begin --> and <!-- {name}: end -->")
    return changed


def main(arguments: list[str]) -> int:
    """Insert every NAME=FILE into the page named first."""
    if not arguments[1:] or not all("=" in argument for argument in arguments[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0])
    page = path.read_text("utf-8")
    for argument in arguments[1:]:
        name, _, file = argument.partition("=")
        page = insert(page, name, Path(file).read_text("utf-8"))
    path.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
