"""Charts as SVG, as a separate file or inside the HTML page. They follow the reader's light or dark scheme."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.render.document import BAD, GOOD, UNSURE

if TYPE_CHECKING:
    from otel_fastpath.tools.common.render.document import Chart, Document, Mark

_ROW: Final = 24
_TOP: Final = 46
_LABEL: Final = 330
_PLOT: Final = 460
_VALUE: Final = 250
_WIDTH: Final = _LABEL + _PLOT + _VALUE
_TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
_END: Final = 1.55
_LONGEST_LABEL: Final = 46
_KEPT_END: Final = 20

STYLE: Final = """\
.otf{--ink:#1c2430;--soft:#6b7686;--line:#d5dae1;--good:#16794c;--bad:#b3261e;--unsure:#9a6200;--none:#5b6b80;\
--paper:#fff}
@media(prefers-color-scheme:dark){.otf{--ink:#e6e9ee;--soft:#98a3b3;--line:#384250;--good:#5fd39b;--bad:#ff8a80;\
--unsure:#f0b95a;--none:#8fa1b8;--paper:#14181f}}
.otf text{font:12px system-ui,sans-serif;fill:var(--ink)}.otf .soft{fill:var(--soft)}
.otf .title{font-weight:600;font-size:13px}
.otf .grid{stroke:var(--line)}.otf .limit{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 3}
.otf .good{--tone:var(--good)}.otf .bad{--tone:var(--bad)}.otf .unsure{--tone:var(--unsure)}
.otf .none{--tone:var(--none)}
.otf .dot{fill:none;stroke:var(--tone);stroke-opacity:.75}.otf .mark{fill:var(--tone)}
.otf .span{stroke:var(--tone);stroke-width:6;stroke-opacity:.28}.otf .bar{fill:var(--tone);fill-opacity:.35}
.otf .paper{fill:var(--paper)}"""


def render(document: Document) -> str:
    """All charts of a document as one SVG file."""
    heights = [height(chart) for chart in document.charts]
    total = sum(heights) or _ROW
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="otf" width="{_WIDTH}" height="{total}" '
            f'viewBox="0 0 {_WIDTH} {total}" role="img" aria-label="{escape(document.title)}">'
        ),
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{total}"/>',
    ]
    top = 0
    for chart, tall in zip(document.charts, heights, strict=True):
        parts.append(f'<g transform="translate(0 {top})">{_chart(chart)}</g>')
        top += tall
    if not document.charts:
        parts.append(f'<text x="8" y="16">{escape(document.summary.text)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def height(chart: Chart) -> int:
    """The height of the chart, in pixels."""
    return _TOP + _ROW * len(chart.marks) + 12


def _chart(chart: Chart) -> str:
    bottom = _TOP + _ROW * len(chart.marks)
    parts = [f'<text class="title" x="8" y="18">{escape(chart.title)}</text>']
    for tick in _TICKS:
        x = _x(tick)
        kind = "limit" if tick == 1 else "grid"
        parts.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="{_TOP - 6}" y2="{bottom}"/>')
        text = chart.line if tick == 1 else f"{tick:.0%}"
        parts.append(f'<text class="soft" x="{x}" y="{_TOP - 12}" text-anchor="middle">{escape(text)}</text>')
    parts += [_mark(mark, _TOP + _ROW * index + _ROW // 2) for index, mark in enumerate(chart.marks)]
    return "".join(parts)


def _mark(mark: Mark, y: int) -> str:
    tone = mark.tone if mark.tone in (GOOD, BAD, UNSURE) else "none"
    label = mark.label
    if len(label) > _LONGEST_LABEL:
        # Keep the end of the label, which names the metric.
        label = f"{label[: _LONGEST_LABEL - _KEPT_END - 1]}…{label[-_KEPT_END:]}"
    parts = [f'<g class="{tone}"><title>{escape(mark.label)}: {escape(mark.text)}</title>']
    parts.append(f'<text x="{_LABEL - 14}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
    parts.append(f'<text class="soft" x="{_LABEL + _PLOT + 12}" y="{y + 4}">{escape(mark.text)}</text>')
    if mark.value is not None:
        at = _x(mark.value)
        if mark.bar:
            parts.append(f'<rect class="bar" x="{_x(0)}" y="{y - 6}" width="{max(at - _x(0), 1):.1f}" height="12"/>')
        if mark.low is not None and mark.high is not None:
            parts.append(f'<line class="span" x1="{_x(mark.low)}" x2="{_x(mark.high)}" y1="{y}" y2="{y}"/>')
        parts += [f'<circle class="dot" cx="{_x(point)}" cy="{y}" r="3.5"/>' for point in mark.points]
        parts.append(_pointer(mark.value, at, y))
    return "".join([*parts, "</g>"])


def _pointer(value: float, at: float, y: int) -> str:
    """A line at the value, or an arrow if the value is beyond the scale."""
    if value > _END:
        return f'<path class="mark" d="M{at - 9} {y - 6}L{at} {y}L{at - 9} {y + 6}Z"/>'
    return f'<rect class="mark" x="{at - 1.5:.1f}" y="{y - 8}" width="3" height="16"/>'


def _x(share: float) -> float:
    return round(_LABEL + _PLOT * min(max(share, 0.0), _END) / _END, 1)
