"""Makes the site from pages that GitHub shows as they are: mkdocs calls these functions (mkdocs.yml)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import landing  # noqa: E402  # found only from here on
from metadata_hook import file_address  # noqa: E402  # likewise

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Tables of these pages are as wide as a screen.
WIDE = re.compile(r"(?:patches|performance|telemetry)-")
SENTENCE = 30
_CODE = re.compile(r"(?<=<code>)[^<]{24,}")
REPOSITORY = _PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]


def on_config(config: Any) -> None:
    """Link to the repository, if it has an address."""
    if REPOSITORY:
        config.extra["social"] = [{"icon": "fontawesome/brands/github", "link": REPOSITORY}]


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    """The text of a page. The first one has the README's sections; what is around them is in theme/home.html."""
    name = page.file.src_uri
    if name == "index.md":
        page.meta |= {"template": "home.html", "hide": ["navigation", "toc"]}
        markdown = inside(_sections((ROOT / "README.md").read_text(encoding="utf-8")))
    elif WIDE.match(name) or "\n## " not in markdown:
        page.meta["hide"] = ["toc"]
    # Markdown in HTML is read only where this says so; GitHub reads all.
    return outside(titled(markdown.replace("<details>", '<details markdown="1">')), REPOSITORY)


def on_page_content(html: str, **_more: Any) -> str:
    """The HTML of a page: pictures are a part of it, so that they follow the switch of the scheme."""
    html = re.sub(r"(?<=</td>\n)<td([^>]*)>(.*?)</td>", _cell, html)
    return re.sub(r'<p><img alt="[^"]*" src="([\w-]+\.svg)" /></p>', lambda found: picture(found[1]), html)


def on_page_context(context: Any, page: Any, **_more: Any) -> Any:
    """What the template of the first page shows."""
    if page.file.src_uri == "index.md":
        index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
        context |= {
            "landing": landing.facts(),
            "picture": picture("demo-shop.svg"),
            "sections": landing.sections(index),
        }
    return context


def picture(name: str) -> str:
    """A picture of docs/ as a part of a page: its dark colours are those of the site's dark scheme."""
    svg = (ROOT / "docs" / name).read_text(encoding="utf-8")
    dark = re.sub(
        r"@media\(prefers-color-scheme:dark\)\{(\.chart\{[^}]*\})\}", r'[data-md-color-scheme="slate"] \1', svg
    )
    return re.sub(r'<rect class="paper"[^>]*/>', "", dark).replace("\n", "")


def _cell(cell: re.Match[str]) -> str:
    """A cell of a table, but for the first one of a row: sentences need room, a long name is broken between parts."""
    lines = re.sub(r"<(?!br)[^>]*>", "", cell[2]).split("<br")
    kind = ' class="long"' if max(map(len, lines)) > SENTENCE else ""
    return f"<td{cell[1]}{kind}>{_CODE.sub(_breakable, cell[2])}</td>"


def _breakable(code: re.Match[str]) -> str:
    return re.sub(r"(?<=\w)[./:](?=\w)|(?<=[a-z0-9])_(?=[a-z0-9])", r"\g<0><wbr>", code[0])


def _sections(readme: str) -> str:
    """What the README says below its table, without its list of pages."""
    return readme[readme.index("## Install it") : readme.index("## More")]


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
