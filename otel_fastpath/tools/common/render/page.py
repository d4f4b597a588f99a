"""A document as one self-contained HTML page: no fonts, no requests; scripts only where they are given."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.render import chart
from otel_fastpath.tools.common.render.document import BAD, GOOD, MUTE, UNSURE, Document

if TYPE_CHECKING:
    from otel_fastpath.tools.common.render.document import Cell, Table

_STYLE: Final = """\
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5d6878;--line:#d5dae1;--paper:#fff;--box:#f5f7fa;--good:#16794c;\
--bad:#b3261e;--unsure:#8a5700}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#98a3b3;--line:#384250;--paper:#14181f;--box:#1c222b;\
--good:#5fd39b;--bad:#ff8a80;--unsure:#f0b95a}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
body{max-width:76rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.summary{padding:.6rem 1rem;border-left:5px solid var(--tone,var(--line));background:var(--box);font-weight:600}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{font-weight:600;color:var(--soft)}td.right,th.right{text-align:right;white-space:nowrap}
.good{--tone:var(--good)}.bad{--tone:var(--bad)}.unsure{--tone:var(--unsure)}.mute{--tone:var(--soft)}
td.good,td.bad,td.unsure,td.mute{color:var(--tone)}td.bad,td.good{font-weight:600}
svg{max-width:100%;height:auto}dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}li{margin:.2rem 0}"""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(document: Document, more: str = "", scripts: str = "") -> str:
    """The page.

    Args:
        document: The document.
        more: HTML that follows the tables.
        scripts: The sources of scripts that the page may run, as in a content security policy; empty for none.
    """
    tone, summary = _tone(document.summary), escape(document.summary.text)
    parts = [f'<h1>{escape(document.title)}</h1><p class="summary {tone}">{summary}</p>']
    if document.charts:
        parts.append(f'<section class="scroll">{chart.render(document)}</section>')
    parts += [_table(table) for table in document.tables]
    parts += filter(None, [more])
    notes = [note for note in (*document.notes, document.advice) if note]
    if notes:
        parts.append("<h2>Notes</h2><ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>")
    if document.facts:
        pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in document.facts)
        parts.append(f"<h2>Environment</h2><dl>{pairs}</dl>")
    return frame(document.title, "\n".join(parts), scripts=scripts)


def frame(title: str, body: str, style: str = "", scripts: str = "") -> str:
    """A page around some HTML.

    Args:
        title: The title that a browser shows, as text.
        body: The HTML.
        style: More of a style sheet.
        scripts: See `render`.
    """
    policy = f"{_POLICY}; script-src {scripts}" if scripts else _POLICY
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body><main>",
        body,
    ]
    return "\n".join([*parts, "</main></body></html>"]) + "\n"


def _table(table: Table) -> str:
    right = [name.startswith(">") for name in table.columns]
    head = "".join(
        f'<th scope="col"{_class("right" if right[i] else "")}>{escape(name.lstrip(">"))}</th>'
        for i, name in enumerate(table.columns)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_class(' '.join(filter(None, ('right' if right[i] else '', _tone(cell)))))}>{escape(cell.text)}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    title = f"<h2>{escape(table.title)}</h2>" if table.title else ""
    return f'{title}<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _tone(cell: Cell) -> str:
    return cell.tone if cell.tone in (GOOD, BAD, UNSURE, MUTE) else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
