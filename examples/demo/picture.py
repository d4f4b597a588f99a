"""The picture of a service: its CPU per request, and what each signal takes of it. It follows the reader's scheme."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from examples.demo.chart import MARGIN, WIDTH, head, picture

# What stands beside the longest bar has the rest.
PLOT = 320
BAR, STEP = 24, 56


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
    title = "CPU per request, in microseconds"
    shapes, top = head(title, found["title"], {kind: kind for kind in kinds})
    for name, leg in legs.items():
        shapes += _bar(titles[name], leg, _parts(leg, legs["bare"]), top, scale)
        top += STEP
    return picture(f"{title}: {found['title']}", top, shapes)


def _parts(leg: Mapping[str, Any], bare: Mapping[str, Any]) -> dict[str, float]:
    """The microseconds of the service and of what it sends; noise below nothing is nothing."""
    told = leg["signals_cpu_us"] or ({"telemetry": leg["telemetry_cpu_us"]} if leg["telemetry_cpu_us"] else {})
    parts = {name: max(0.0, each["median"]) for name, each in told.items()}
    return {"service": bare["cpu_us"]["median"], **parts}


def _bar(title: str, leg: Mapping[str, Any], parts: Mapping[str, float], top: float, scale: float) -> Iterator[str]:
    yield f'<text x="{MARGIN}" y="{top + 12}">{escape(title)}</text>'
    at = float(MARGIN)
    for kind, value in parts.items():
        wide = value * scale
        shape = f'x="{at:.1f}" y="{top + 20}" width="{wide:.1f}" height="{BAR}" style="fill:var(--{kind})"'
        # Shown where a pointer rests: a part may be too narrow for its figure.
        yield f"<rect {shape}><title>{kind}: {value:,.0f}</title></rect>"
        at += wide
    telemetry, signals = leg["telemetry_cpu_us"], leg["signals_cpu_us"]
    text = f"+ {telemetry['median']:,.0f}" if telemetry else f"{leg['cpu_us']['median']:,.0f}"
    yield f'<text x="{at + 8:.1f}" y="{top + 20 + BAR / 2 + 5}">{text}</text>'
    if signals:
        told = ", ".join(f"{kind} {each['median']:,.0f}" for kind, each in signals.items())
        yield f'<text class="soft" x="{WIDTH - MARGIN}" y="{top + 12}" text-anchor="end">{told}</text>'
