"""The picture of a service: its CPU per request, and what each signal takes of it. It follows the reader's scheme."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

WIDTH, LABEL, PLOT = 900, 130, 510
BAR, STEP, TOP = 34, 52, 78
STYLE = """\
.demo{--ink:#1c2430;--soft:#5b6675;--paper:#fff;--service:#b8c0cb;--traces:#2f6fde;--metrics:#d9822b;--logs:#1f9d76;\
--telemetry:#2f6fde}
@media(prefers-color-scheme:dark){.demo{--ink:#e6e9ee;--soft:#98a3b3;--paper:#14181f;--service:#4a5565;\
--traces:#6ea8ff;--metrics:#f0b05a;--logs:#4fd0a3;--telemetry:#6ea8ff}}
.demo text{font:13px system-ui,sans-serif;fill:var(--ink)}.demo .soft{fill:var(--soft);font-size:12px}
.demo .title{font-weight:600;font-size:15px}.demo .paper{fill:var(--paper)}"""


def draw(found: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Draw a bar for each way of a service.

    Args:
        found: The result of `report.result`.
        titles: The title of each way.

    Returns:
        The SVG file.
    """
    legs = found["legs"]
    kinds = ["service", *(legs["stock"]["signals_cpu_us"] or ["telemetry"])]
    scale = PLOT / max(leg["cpu_us"]["median"] for leg in legs.values())
    height = TOP + STEP * len(legs) + 12
    title = f"CPU per request, in microseconds: {found['title']}"
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="demo" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        ),
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="12" y="26">{escape(title)}</text>',
        *_legend(kinds),
    ]
    for at, (name, leg) in enumerate(legs.items()):
        lines += _bar(titles[name], leg, _parts(leg, legs["bare"]), TOP + STEP * at, scale)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _parts(leg: Mapping[str, Any], bare: Mapping[str, Any]) -> dict[str, float]:
    """The microseconds of the service and of what it sends; noise below nothing is nothing."""
    told = leg["signals_cpu_us"] or ({"telemetry": leg["telemetry_cpu_us"]} if leg["telemetry_cpu_us"] else {})
    parts = {name: max(0.0, each["median"]) for name, each in told.items()}
    return {"service": bare["cpu_us"]["median"], **parts}


def _legend(kinds: list[str]) -> Iterator[str]:
    at = LABEL
    for kind in kinds:
        yield f'<rect x="{at}" y="44" width="12" height="12" rx="2" style="fill:var(--{kind})"/>'
        yield f'<text class="soft" x="{at + 18}" y="54">{kind}</text>'
        at += 100


def _bar(title: str, leg: Mapping[str, Any], parts: Mapping[str, float], top: int, scale: float) -> Iterator[str]:
    middle = top + BAR / 2 + 4
    yield f'<text x="{LABEL - 10}" y="{middle}" text-anchor="end">{escape(title)}</text>'
    at = float(LABEL)
    for kind, value in parts.items():
        wide = value * scale
        shape = f'x="{at:.1f}" y="{top}" width="{wide:.1f}" height="{BAR}" style="fill:var(--{kind})"'
        # Shown where a pointer rests: a part may be too narrow for its figure.
        yield f"<rect {shape}><title>{kind}: {value:,.0f}</title></rect>"
        at += wide
    telemetry, signals = leg["telemetry_cpu_us"], leg["signals_cpu_us"]
    text = f"+ {telemetry['median']:,.0f}" if telemetry else f"{leg['cpu_us']['median']:,.0f}"
    yield f'<text x="{at + 8:.1f}" y="{middle - 6 if signals else middle}">{text}</text>'
    if signals:
        told = ", ".join(f"{kind} {each['median']:,.0f}" for kind, each in signals.items())
        yield f'<text class="soft" x="{at + 8:.1f}" y="{middle + 10}">{told}</text>'
