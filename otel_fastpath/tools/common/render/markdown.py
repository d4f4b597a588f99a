"""A document as Markdown: for a job summary or a comment on a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.render.document import BAD, GOOD, MUTE, PLAIN, UNSURE

if TYPE_CHECKING:
    from otel_fastpath.tools.common.render.document import Cell, Document

# Each sign is shown beside a word: it only draws attention.
_SIGNS: Final = {GOOD: "✅ ", BAD: "❌ ", UNSURE: "⚠️ ", MUTE: "", PLAIN: ""}
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#])")


def render(document: Document) -> str:
    """The whole document."""
    lines = [f"## {_escaped(document.title)}", "", _cell(document.summary), ""]
    for table in document.tables:
        if table.title:
            lines += [f"### {_escaped(table.title)}", ""]
        lines.append("| " + " | ".join(_escaped(name.lstrip(">")) for name in table.columns) + " |")
        lines.append("|" + "|".join("---:" if name.startswith(">") else "---" for name in table.columns) + "|")
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in table.rows]
        lines.append("")
    lines += [f"{_escaped(note)}  " for note in (*document.notes, document.advice) if note]
    if document.facts:
        lines += ["", "<details><summary>Environment</summary>", "", "| | |", "|---|---|"]
        lines += [f"| {_escaped(name)} | {_escaped(value)} |" for name, value in document.facts]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _cell(cell: Cell) -> str:
    return _SIGNS[cell.tone] + _escaped(cell.text)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
