"""Makes the site from pages that GitHub shows as they are: mkdocs calls these functions (mkdocs.yml)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from metadata_hook import file_address  # noqa: E402  # found only from here on

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = _PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]


def on_config(config: Any) -> None:
    """Link to the repository, if it has an address."""
    if REPOSITORY:
        config.extra["social"] = [{"icon": "fontawesome/brands/github", "link": REPOSITORY}]


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    """The text of a page. The first one is the README, with the table of pages after it."""
    name = page.file.src_uri
    if name == "index.md":
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        markdown = f"{inside(readme)}\n{_below(markdown)}".replace("](index.md)", "](#)")
    return outside(titled(markdown), REPOSITORY)


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


def inside(readme: str) -> str:
    """The README as a page of docs/: its links are relative to the root."""
    return re.sub(r"\]\((?:docs/|(?!https?:|#))([^)]+)\)", _from_docs, readme)


def _from_docs(link: re.Match[str]) -> str:
    return f"]({'' if link[0].startswith('](docs/') else '../'}{link[1]})"


def outside(markdown: str, repository: str) -> str:
    """Links to files beside docs/ become addresses in the repository, or text while it has none."""

    def link(found: re.Match[str]) -> str:
        return f"[{found[1]}]({file_address(found[2], repository)})" if repository else found[1]

    return re.sub(r"\[([^\]]+)\]\(\.\./([^)]+)\)", link, markdown)
