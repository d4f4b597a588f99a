"""Makes the site from pages that GitHub shows as they are: mkdocs calls these functions (mkdocs.yml)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILES = "https://github.com/otel-fastpath/otel-fastpath/blob/main/"


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    """The text of a page. The first one is the README, with the table of pages after it."""
    name = page.file.src_uri
    if name == "index.md":
        markdown = f"{(ROOT / 'README.md').read_text(encoding='utf-8')}\n{_below(markdown)}"
    return outside(titled(inside(markdown, name)))


def _below(markdown: str) -> str:
    """The index as a section: its headings one level lower, without its first paragraph, which names the README."""
    _, _, sections = markdown.partition("\n## ")
    return re.sub(r"^## ", "### ", f"## All pages\n\n## {sections}", flags=re.MULTILINE).replace("### All", "## All", 1)


def titled(markdown: str) -> str:
    """A link whose text is the name of a page's file gets the page's title."""
    return re.sub(r"\[[\w-]+\.md\]\(([\w-]+\.md)(#[\w-]+)?\)", _title, markdown)


def _title(link: re.Match[str]) -> str:
    text = (ROOT / "docs" / link[1]).read_text(encoding="utf-8")
    return f"[{text.partition(chr(10))[0].removeprefix('# ')}]({link[1]}{link[2] or ''})"


def inside(markdown: str, name: str) -> str:
    """Addresses of pages in the repository become links in the site; one of the page itself leads to its beginning."""
    text = re.sub(rf"\]\({FILES}docs/([\w-]+\.md)(#[\w-]+)?\)", r"](\1\2)", markdown)
    return text.replace(f"]({name})", "](#)")


def outside(markdown: str) -> str:
    """Links to files beside docs/ become addresses in the repository."""
    return re.sub(r"\]\(\.\./([^)]+)\)", rf"]({FILES}\1)", markdown)
