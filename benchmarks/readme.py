"""Inserts a generated table into a page, between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

from __future__ import annotations

import re


def insert(page: str, name: str, table: str) -> str:
    """Replace the part of the page between the marks of this name.

    A heading at the beginning of the table is left out, because the page has its own.

    Raises:
        ValueError: The page has no such marks.
    """
    marks = re.compile(rf"(<!-- {re.escape(name)}: begin -->\n).*?(<!-- {re.escape(name)}: end -->)", re.DOTALL)
    text = re.sub(r"\A#+ [^\n]*\n", "", table.strip()).strip()
    changed, found = marks.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)
    if found != 1:
        raise ValueError(f"expected one part {name!r} between <!-- {name}: begin --> and <!-- {name}: end -->")
    return changed
