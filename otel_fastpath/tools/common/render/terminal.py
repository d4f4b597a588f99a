"""A document for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.render.document import BAD, GOOD, MUTE, PLAIN, UNSURE

if TYPE_CHECKING:
    from otel_fastpath.tools.common.render.document import Cell, Document, Table

_COLOURS: Final = {GOOD: "\033[32m", BAD: "\033[1;31m", UNSURE: "\033[33m", MUTE: "\033[2m", PLAIN: ""}
_RESET: Final = "\033[0m"


def render(document: Document, *, colour: bool = False, facts: bool = True) -> str:
    """The whole document as lines."""
    lines = [document.title, ""]
    for table in document.tables:
        lines += [*_table(table, colour=colour), ""]
    if facts:
        lines += [f"{name}: {value}" for name, value in document.facts]
    lines += document.notes
    lines.append(_toned(document.summary, document.summary.text, colour=colour))
    lines += [document.advice] if document.advice else []
    return "\n".join(lines)


def _table(table: Table, *, colour: bool) -> list[str]:
    names = [column.lstrip(">") for column in table.columns]
    last = len(names) - 1
    widths = [max(len(names[i]), *(len(row[i].text) for row in table.rows), 0) for i in range(len(names))]
    lines = [table.title] if table.title else []
    lines.append(
        "  ".join(_padded(name, i, table, 0 if i == last else widths[i]) for i, name in enumerate(names)).rstrip()
    )
    lines.append("  ".join("-" * width for width in widths))
    for row in table.rows:
        cells = [
            _toned(
                cell,
                _padded(cell.text, i, table, 0 if i == last and not table.columns[i].startswith(">") else widths[i]),
                colour=colour,
            )
            for i, cell in enumerate(row)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _padded(text: str, index: int, table: Table, width: int) -> str:
    return text.rjust(width) if table.columns[index].startswith(">") else text.ljust(width)


def _toned(cell: Cell, text: str, *, colour: bool) -> str:
    return f"{_COLOURS[cell.tone]}{text}{_RESET}" if colour and cell.tone else text
