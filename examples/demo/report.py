"""What the demo found, as a table, a picture, JSON and Markdown."""

import json
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from examples.demo.measure import Leg, Plan

TITLES = {"bare": "no telemetry", "stock": "OpenTelemetry", "fastpath": "otel-fastpath"}
RATIO = "ratio"
COLOURS = {"bare": "#8a94a0", "stock": "#c8553d", "fastpath": "#2a7f62"}
VERSIONS = ("fastapi", "uvicorn", "asyncpg", "openai", "opentelemetry-sdk", "opentelemetry-instrumentation")
QUARTERS = 4


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure of each leg, and how fastpath stands to stock."""

    title: str
    unit: str
    digits: int
    values: dict[str, float | None]

    def cells(self) -> list[str]:
        """The line as text."""
        shown = ["-" if value is None else f"{value:,.{self.digits}f}" for value in self.values.values()]
        stock, fastpath = self.values["stock"], self.values["fastpath"]
        ratio = f"x {fastpath / stock:.2f}" if stock and fastpath is not None else "-"
        return [f"{self.title} ({self.unit})" if self.unit else self.title, *shown, ratio]


def result(legs: Sequence[Leg], plan: Plan, received: dict[str, Any], differences: list[str]) -> dict[str, Any]:
    """Put everything that was measured into one JSON-able dictionary."""
    cpu = {leg.name: [seconds * 1e6 for seconds in leg.cpu_per_request] for leg in legs}
    overhead = {
        name: [used - base for used, base in zip(cpu[name], cpu["bare"], strict=True)] for name in ("stock", "fastpath")
    }
    return {
        "machine": {"python": platform.python_version(), "system": platform.platform(terse=True)},
        "versions": {name: version(name) for name in VERSIONS},
        "rounds": len(cpu["bare"]),
        "requests_per_round": plan.requests,
        "legs": {leg.name: _leg(leg, cpu[leg.name], overhead.get(leg.name), received.get(leg.name)) for leg in legs},
        "same_telemetry": not differences,
        "differences": differences,
    }


def _leg(leg: Leg, cpu: list[float], overhead: list[float] | None, received: dict[str, Any] | None) -> dict[str, Any]:
    got = received or {"span_count": 0, "metrics": {}, "metric_points": 0, "wire_bytes": 0}
    return {
        "requests": leg.requests,
        "cpu_us": statistics.median(cpu),
        "cpu_us_quartiles": _quartiles(cpu),
        "cpu_us_rounds": cpu,
        "telemetry_cpu_us": None if overhead is None else statistics.median(overhead),
        "telemetry_cpu_us_quartiles": None if overhead is None else _quartiles(overhead),
        "telemetry_cpu_us_mean": None if overhead is None else statistics.mean(overhead),
        "requests_per_second": statistics.median(leg.requests_per_second),
        "p50_ms": leg.quantile(0.5) * 1e3,
        "p99_ms": leg.quantile(0.99) * 1e3,
        "spans": got["span_count"],
        "metric_series": len(got["metrics"]),
        "metric_points": got["metric_points"],
        "wire_bytes": got["wire_bytes"],
    }


def _quartiles(values: list[float]) -> list[float]:
    if len(values) == 1:
        return values * (QUARTERS - 1)
    return statistics.quantiles(values, n=QUARTERS, method="inclusive")


def rows(found: dict[str, Any]) -> list[Row]:
    """The lines of the table; the ratio in each is that of otel-fastpath to OpenTelemetry as it is."""
    wanted = [
        ("CPU per request", "us", 0, "cpu_us"),
        ("of it telemetry", "us", 0, "telemetry_cpu_us"),
        ("requests per second", "", 0, "requests_per_second"),
        ("latency p50", "ms", 1, "p50_ms"),
        ("latency p99", "ms", 1, "p99_ms"),
        ("spans received", "", 0, "spans"),
        ("metric series", "", 0, "metric_series"),
        ("metric points", "", 0, "metric_points"),
    ]
    legs = found["legs"]
    told = [Row(title, unit, digits, {name: legs[name][key] for name in TITLES}) for title, unit, digits, key in wanted]
    multiples = {name: legs[name]["cpu_us"] / legs["bare"]["cpu_us"] for name in TITLES}
    return [told[0], Row("times bare", "", 2, multiples), *told[1:]]


def summary(found: dict[str, Any]) -> str:
    """The result in a sentence."""
    stock, fastpath = (found["legs"][name]["telemetry_cpu_us"] for name in ("stock", "fastpath"))
    share = f"{1 - fastpath / stock:.0%} less" if 0 < fastpath < stock else f"{fastpath - stock:+.0f} us"
    return (
        f"Telemetry took {stock:,.0f} us of CPU per request as it is, {fastpath:,.0f} us with otel-fastpath: {share}. "
        f"{found['rounds']} rounds of {found['requests_per_round']} requests each; medians of the rounds."
    )


def show(console: Console, found: dict[str, Any]) -> None:
    """Print the table and what it says."""
    table = Table(title="What telemetry costs the example service", box=box.SIMPLE_HEAD)
    table.add_column("")
    for title in (*TITLES.values(), RATIO):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows(found):
        table.add_row(*row.cells())
    console.print(table)
    console.print(summary(found), highlight=False)


def markdown(found: dict[str, Any]) -> str:
    """The table as Markdown, for a README."""
    head = ["", *TITLES.values(), RATIO]
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *(row.cells() for row in rows(found))]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    machine = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return f"{table}\n\n{summary(found)} Python {found['machine']['python']}, {machine}.\n"


def write(found: dict[str, Any], folder: Path) -> None:
    """Write `result.json`, `result.md`, `result.svg` and `result.png`."""
    (folder / "result.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (folder / "result.md").write_text(markdown(found), encoding="utf-8")
    draw(found, [folder / "result.svg", folder / "result.png"])


def draw(found: dict[str, Any], files: Sequence[Path]) -> None:
    """Draw CPU per request, and the requests per second that this leaves room for."""
    import matplotlib as mpl  # noqa: PLC0415 - it takes a second to import, and the demo can fail before

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=(3, 2), layout="constrained")
    legs, names = found["legs"], list(reversed(TITLES))
    bare = legs["bare"]["cpu_us"]
    for at, name in enumerate(names):
        more = legs[name]["telemetry_cpu_us"] or 0.0
        left.barh(at, bare, color=COLOURS["bare"])
        left.barh(at, more, left=bare, color=COLOURS[name])
        told = f" + {more:,.0f} us for telemetry" if name != "bare" else f" {bare:,.0f} us"
        left.text(bare + more, at, told, va="center", fontsize=10)
        rate = legs[name]["requests_per_second"]
        right.barh(at, rate, color=COLOURS[name])
        right.text(rate, at, f" {rate:,.0f}", va="center", fontsize=10)
    most = bare + max(legs[name]["telemetry_cpu_us"] for name in ("stock", "fastpath"))
    left.set(title="CPU per request (us)", xlim=(0, most * 1.55))
    right.set(title="requests per second", xlim=(0, max(leg["requests_per_second"] for leg in legs.values()) * 1.2))
    left.set_yticks(range(len(names)), [TITLES[name] for name in names], fontsize=11)
    right.set_yticks([])
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(summary(found), fontsize=9, y=-0.02, color="#444444")
    for file in files:
        figure.savefig(file, dpi=110, bbox_inches="tight")
    plt.close(figure)
