"""What the pictures of the documentation have in common: colours that follow the reader's scheme, sizes for a phone."""

import textwrap
from collections.abc import Iterable, Mapping
from html import escape

# Not wider than a phone, whose reader can read the texts; beside text, it may be a little larger.
WIDTH, MARGIN = 420, 12
# So many characters are as wide.
_MOST = 62
STYLE = """\
.chart{--ink:#1c2430;--soft:#566070;--line:#d5dae1;--paper:#fff;--service:#b8c0cb;--telemetry:#0f766e;\
--traces:#0f766e;--metrics:#c2571a;--logs:#4b5fc4;--limit:#c2320e}
@media(prefers-color-scheme:dark){.chart{--ink:#e6e9ee;--soft:#a3aebd;--line:#333c4a;--paper:#14181f;--service:#566274;\
--telemetry:#2dd4bf;--traces:#2dd4bf;--metrics:#f0a35a;--logs:#93a5ff;--limit:#ff8a65}}
.chart text{font:13px system-ui,sans-serif;fill:var(--ink)}.chart .soft{fill:var(--soft);font-size:12px}
.chart .title{font-weight:600;font-size:15px}.chart .paper{fill:var(--paper)}.chart .line{stroke:var(--line)}"""


def head(title: str, below: str, kinds: Mapping[str, str]) -> tuple[list[str], float]:
    """The head of a picture, and where it ends.

    Args:
        title: The title.
        below: What the picture shows.
        kinds: The legend: colour -> name.
    """
    lines = textwrap.wrap(below, _MOST)
    top = 40 + 16 * len(lines)
    shapes = [
        f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>',
        *(f'<text class="soft" x="{MARGIN}" y="{45 + 16 * at}">{escape(line)}</text>' for at, line in enumerate(lines)),
    ]
    at = float(MARGIN)
    for colour, name in kinds.items():
        shapes += [
            f'<rect x="{at:.0f}" y="{top}" width="12" height="12" rx="2" style="fill:var(--{colour})"/>',
            f'<text class="soft" x="{at + 18:.0f}" y="{top + 10.5}">{escape(name)}</text>',
        ]
        at += 40 + 6.5 * len(name)
    return shapes, top + 28.0


def picture(label: str, height: float, shapes: Iterable[str]) -> str:
    """An SVG file with these shapes; the label is for those who do not see them."""
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{WIDTH}" height="{height:g}" '
            f'viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">'
        ),
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height:g}"/>',
        *shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
