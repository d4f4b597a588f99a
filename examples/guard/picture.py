"""The picture of the guard: telemetry's share of the CPU under a step of the load, and what is shed."""

from collections.abc import Iterator, Mapping, Sequence

from examples.demo.chart import MARGIN, WIDTH, head, picture

Points = Sequence[tuple[float, float]]
LEFT, RIGHT = 50, WIDTH - MARGIN
# A graph has its name above it, and the first one what the load is.
HEADS = {"share": 42, "probability": 24, "level": 24}
GAP = 14
HEIGHTS = {"share": 140, "probability": 60, "level": 60}
TITLES = {
    "share": "share of the CPU",
    "probability": "traces that are kept",
    "level": "level: what is shed besides",
}


def draw(found: Mapping[str, Points], limit: float, phases: Sequence[tuple[float, float]]) -> str:
    """Draw the share over time, with what is shed.

    Args:
        found: The series `share`, `probability` and `level`: (seconds since the beginning, value).
        limit: The share that telemetry may take.
        phases: The load: (seconds, requests a second).

    Returns:
        The SVG file.
    """
    end = sum(seconds for seconds, _ in phases)
    series = {name: [(moment, value) for moment, value in found[name] if 0 <= moment <= end] for name in HEIGHTS}
    most = {"share": max(limit, *(value for _, value in series["share"])) * 1.1, "probability": 1.0}
    most["level"] = max(1.0, *(value for _, value in series["level"]))
    ticks = {
        "share": [step / 10 for step in range(11) if step / 10 <= most["share"]],
        "probability": [0.0, 0.5, 1.0],
        "level": [float(each) for each in range(int(most["level"]) + 1)],
    }
    title = "Telemetry under a step of the load"
    load = f"{', then '.join(f'{rate:g}' for _, rate in phases)} requests/s"
    shapes, top = head(title, load, {"telemetry": "telemetry", "limit": f"the limit, {limit:.0%}"})
    for name, high in HEIGHTS.items():
        top += HEADS[name]
        graph = Graph(top, high, most[name], end)
        shapes.append(f'<text class="soft" x="{MARGIN}" y="{top - HEADS[name] + 14:g}">{TITLES[name]}</text>')
        shapes += graph.scale(ticks[name], is_share=name != "level")
        shapes += graph.phases(phases, is_named=name == "share")
        if name == "share":
            shapes.append(graph.line([(0, limit), (end, limit)], "limit", "stroke-dasharray:6 4"))
        points = series[name] if name == "share" else list(_steps(series[name], end))
        shapes.append(graph.line(points, "telemetry"))
        top += high + GAP
    shapes += _seconds(top, end)
    return picture(f"{title}: {load}", top + 18, shapes)


def _steps(points: Points, end: float) -> Iterator[tuple[float, float]]:
    """A value stays until the next one."""
    for (moment, value), (following, _) in zip(points, [*points[1:], (end, 0.0)], strict=True):
        yield moment, value
        yield following, value


def _seconds(top: float, end: float) -> Iterator[str]:
    for moment in range(0, int(end) + 1, 30 if end > 60 else 10):  # noqa: PLR2004  # as many as can be read
        x = LEFT + (RIGHT - LEFT) * moment / end
        unit = " s" if not moment else ""
        anchor = "end" if moment == int(end) else "middle"
        yield f'<text class="soft" x="{x:.1f}" y="{top + 6}" text-anchor="{anchor}">{moment}{unit}</text>'


class Graph:
    """A graph of one series.

    Args:
        top: Its upper edge.
        high: Its height.
        most: The value at its upper edge; that at its lower edge is 0.
        end: The seconds at its right edge.
    """

    def __init__(self, top: float, high: float, most: float, end: float) -> None:
        self._bottom, self._top = top + high, top
        self._of_value, self._of_second = high / most, (RIGHT - LEFT) / end

    def _place(self, moment: float, value: float) -> tuple[float, float]:
        return LEFT + moment * self._of_second, self._bottom - value * self._of_value

    def line(self, points: Points, colour: str, more: str = "") -> str:
        """A line through these points."""
        drawn = " ".join("{:.1f},{:.1f}".format(*self._place(*point)) for point in points)
        style = f"fill:none;stroke:var(--{colour});stroke-width:2;stroke-linejoin:round;{more}"
        return f'<polyline points="{drawn}" style="{style}"/>'

    def scale(self, ticks: Sequence[float], *, is_share: bool) -> Iterator[str]:
        """A thin line and a figure for each of these values."""
        for value in ticks:
            _, y = self._place(0, value)
            yield f'<line class="line" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            text = f"{value:.0%}" if is_share else f"{value:g}"
            yield f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'

    def phases(self, phases: Sequence[tuple[float, float]], *, is_named: bool) -> Iterator[str]:
        """A line where the load changes, and its figure."""
        begun = 0.0
        for seconds, rate in phases:
            x, _ = self._place(begun, 0)
            yield f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{self._top:.1f}" y2="{self._bottom:.1f}"/>'
            if is_named:
                text = f"{rate:g}/s"
                yield f'<text class="soft" x="{x + 6:.1f}" y="{self._top - 7:.1f}">{text}</text>'
            begun += seconds
