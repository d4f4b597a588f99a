"""A page of the documentation as HTML: of Markdown, what these pages use."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.render import page

if TYPE_CHECKING:
    from collections.abc import Callable

_FENCE: Final = re.compile(r"^```\w*\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_LIST: Final = re.compile(r"(?:[-*]|\d+\.) ")
_NUMBER: Final = re.compile(r"\d+\. ")
_BULLET: Final = re.compile(r"[-*] ")
_HEADING: Final = re.compile(r"^(#+) (.*)")
_LINK: Final = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")
_PAGE: Final = re.compile(r"(?:docs/|\.\./(?=CHANGELOG))?([\w-]+)\.md(#[\w-]+)?")
_CODE: Final = re.compile(r"(`[^`]+`)")
_STYLE: Final = (
    "main{max-width:52rem}pre{background:var(--box);padding:.7rem 1rem;overflow-x:auto}"
    "code{background:var(--box);padding:.1em .25em}pre code{padding:0}a{color:inherit}"
)


def render(text: str, name: str) -> str:
    """A whole page.

    Args:
        text: Its Markdown.
        name: The name of the package and its version.
    """
    title = text.partition("\n")[0].removeprefix("# ")
    return page.frame(f"{title} - {name}", blocks(text), _STYLE)


def blocks(text: str) -> str:
    """The HTML of some Markdown."""
    made = []
    before = 0
    for fence in _FENCE.finditer(text):
        made += [*_blocks(text[before : fence.start()]), _code(fence[1])]
        before = fence.end()
    return "\n".join([*made, *_blocks(text[before:])])


def _blocks(text: str) -> list[str]:
    lines = text.splitlines()
    made = []
    while lines:
        if not lines[0].strip():
            lines.pop(0)
        elif heading := _HEADING.match(lines[0]):
            lines.pop(0)
            made.append(_heading(len(heading[1]), heading[2]))
        elif lines[0].startswith("    "):
            made.append(_code(_dedented(_take(lines, lambda line: line.startswith("    ") or not line))))
        elif lines[0].startswith("|"):
            made.append(_table(_take(lines, lambda line: line.startswith("|"))))
        elif _LIST.match(lines[0]):
            made.append(_list(_take(lines, _is_in_list(lines[0]))))
        else:
            paragraph = [lines.pop(0), *_take(lines, lambda line: line and not _begins_a_block(line))]
            made.append(f"<p>{_inline(' '.join(paragraph))}</p>")
    return made


def _is_in_list(first: str) -> Callable[[str], object]:
    """Whether a line is a part of the list with this first line: an item of the same kind, or one that is indented."""
    mark = _NUMBER if first[0].isdecimal() else _BULLET
    return lambda line: mark.match(line) or line[:1] in {"", " "}


def _begins_a_block(line: str) -> object:
    return line.startswith("|") or _LIST.match(line) or _HEADING.match(line)


def _take(lines: list[str], is_part: Callable[[str], object]) -> list[str]:
    """The first lines that are a part of a block, taken off the list; empty ones at its end are not."""
    count = 0
    while count < len(lines) and is_part(lines[count]):
        count += 1
    taken, lines[:count] = lines[:count], []
    while taken and not taken[-1]:
        taken.pop()
    return taken


def _dedented(lines: list[str]) -> str:
    return "".join(f"{line[4:]}\n" for line in lines)


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _heading(level: int, text: str) -> str:
    anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    return f'<h{level} id="{anchor}">{_inline(text)}</h{level}>'


def _list(lines: list[str]) -> str:
    """Items may have further blocks, which are indented."""
    kind = "ol" if lines[0][0].isdecimal() else "ul"
    items: list[list[str]] = []
    for line in lines:
        mark = _LIST.match(line)
        if mark:
            items.append([line[mark.end() :]])
            indent = mark.end()
        else:
            items[-1].append(line[indent:] if not line[:indent].strip() else line.lstrip())
    made = "".join(f"<li>{_item(item)}</li>" for item in items)
    return f"<{kind}>{made}</{kind}>"


def _item(lines: list[str]) -> str:
    made = blocks("\n".join(lines) + "\n")
    is_one = made.startswith("<p>") and made.endswith("</p>") and made.count("<p>") == 1
    return made.removeprefix("<p>").removesuffix("</p>") if is_one else made


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    right = [cell.endswith(":") for cell in rows[1]]

    def row(cells: list[str], tag: str) -> str:
        made = (
            f"<{tag}{' class=right' if is_right else ''}>{_inline(cell)}</{tag}>"
            for cell, is_right in zip(cells, right, strict=False)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in rows[2:])
    return f'<div class="scroll"><table><thead>{row(rows[0], "th")}</thead><tbody>{body}</tbody></table></div>'


def _inline(text: str) -> str:
    parts = _CODE.split(text.replace("\\|", "|"))
    kept = [f"\0{index}\0" if part.startswith("`") and len(part) > 1 else part for index, part in enumerate(parts)]
    made = _LINK.sub(_link, escape("".join(kept), quote=False))
    made = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", made)
    made = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*", r"<em>\1</em>", made)
    return re.sub("\0(\\d+)\0", lambda found: f"<code>{escape(parts[int(found[1])].strip('`'))}</code>", made)


def _link(found: re.Match[str]) -> str:
    is_image, shown, target = found.groups()
    if is_image:
        return ""  # pictures are not a part of the package
    if inside := _PAGE.fullmatch(target):
        target = f"{inside[1].lower()}.html{inside[2] or ''}"
    elif not target.startswith(("https:", "http:", "#")):
        return shown  # a file of the repository
    return f'<a href="{escape(target)}">{shown}</a>'
