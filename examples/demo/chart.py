"""What the pictures of the documentation have in common: colours that follow the reader's scheme, sizes for a phone."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape

# Drawn as wide as a column of text, so that the texts can still be read at 360 pixels.
WIDTH, MARGIN = 560, 12
STYLE = """\
.chart{--ink:#1c2430;--soft:#566070;--line:#d5dae1;--paper:#fff;--service:#b8c0cb;--telemetry:#0f766e;\
--traces:#0f766e;--metrics:#c2571a;--logs:#4b5fc4;--limit:#c2320e}
@media(prefers-color-scheme:dark){.chart{--ink:#e6e9ee;--soft:#a3aebd;--line:#333c4a;--paper:#14181f;--service:#566274;\
--telemetry:#2dd4bf;--traces:#2dd4bf;--metrics:#f0a35a;--logs:#93a5ff;--limit:#ff8a65}}
.chart text{font:14px system-ui,sans-serif;fill:var(--ink)}.chart .soft{fill:var(--soft);font-size:12.5px}
.chart .title{font-weight:600;font-size:16px}.chart .paper{fill:var(--paper)}.chart .line{stroke:var(--line)}"""


def picture(title: str, below: str, height: float, shapes: Iterable[str]) -> str:
    """An SVG file with a title, a line below it, and these shapes."""
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{WIDTH}" height="{height:g}" '
            f'viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(f"{title}: {below}")}">'
        ),
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height:g}"/>',
        f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>',
        f'<text class="soft" x="{MARGIN}" y="46">{escape(below)}</text>',
        *shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def legend(kinds: Mapping[str, str], top: float) -> Iterator[str]:
    """A row of colours with their names: colour -> name."""
    at = float(MARGIN)
    for colour, name in kinds.items():
        yield f'<rect x="{at:.0f}" y="{top}" width="12" height="12" rx="2" style="fill:var(--{colour})"/>'
        yield f'<text class="soft" x="{at + 18:.0f}" y="{top + 10.5}">{escape(name)}</text>'
        at += 44 + 7 * len(name)
