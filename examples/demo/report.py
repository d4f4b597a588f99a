"""What the demo found, as tables on the terminal, Markdown and JSON."""

import json
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from examples.demo.measure import Leg, Plan
from examples.demo.picture import draw
from examples.demo.subjects import BARE, FASTPATH, STOCK, TRACED, Subject

TITLES = {BARE: "no telemetry", STOCK: "OpenTelemetry", FASTPATH: "otel-fastpath"}
RATIO = "ratio"
VERSIONS = ("fastapi", "uvicorn", "asyncpg", "openai", "opentelemetry-sdk", "opentelemetry-instrumentation")
MORE_VERSIONS = {"orders": ("httpx", "sqlalchemy", "redis")}
HOW = (
    "A signal's figure is what it adds to those above it: the services also run with traces alone, and with traces and "
    "metrics. What is off has the exporter `none`, and without logs no handler of `logging` is installed. Traces "
    "include what the instrumentations cost by themselves."
)


def result(
    subject: Subject, runs: Sequence[Mapping[str, Leg]], plan: Plan, sent: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Put everything that was measured into one JSON-able dictionary.

    Args:
        subject: The service.
        runs: For each run, the measurements of each way.
        plan: How much was sent in a run.
        sent: What was received of the ways with telemetry.
    """
    cpu = {name: [statistics.mean(run[name].cpu_per_request) * 1e6 for run in runs] for name in runs[0]}
    legs = {}
    for base in TITLES:
        every = [run[base] for run in runs]
        legs[base] = {
            "requests": sum(leg.requests for leg in every),
            "cpu_us": _figure(cpu[base]),
            "telemetry_cpu_us": None if base == BARE else _figure(_less(cpu[base], cpu[BARE])),
            "signals_cpu_us": _signals(subject, base, cpu),
            "requests_per_second": statistics.median(rate for leg in every for rate in leg.requests_per_second),
            "p50_ms": statistics.median(leg.quantile(0.5) for leg in every) * 1e3,
            "p99_ms": statistics.median(leg.quantile(0.99) for leg in every) * 1e3,
            **{
                name: sent.get(base, {}).get(name, 0)
                for name in ("spans", "metric_series", "log_records", "wire_bytes")
            },
        }
    return {
        "title": subject.title,
        "signals": list(subject.signals),
        "machine": {"python": platform.python_version(), "system": platform.platform(terse=True)},
        "versions": {name: version(name) for name in (*VERSIONS, *MORE_VERSIONS.get(subject.name, ()))},
        "runs": len(runs),
        "rounds": plan.rounds,
        "requests_per_round": plan.requests,
        "legs": legs,
    }


def _less(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [value - other for value, other in zip(values, others, strict=True)]


def _signals(subject: Subject, base: str, cpu: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """What each signal adds to those before it; nothing if the signals were not measured one by one."""
    if not subject.apart or base == BARE:
        return {}
    ways = sorted((way for way in subject.ways() if way.base == base), key=lambda way: len(way.signals))
    before = [BARE, *(way.name for way in ways)]
    return {way.signals[-1]: _figure(_less(cpu[way.name], cpu[last])) for way, last in zip(ways, before, strict=False)}


def _figure(values: Sequence[float]) -> dict[str, Any]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "runs": list(values)}


def rows(found: Mapping[str, Any]) -> list[list[str]]:
    """The lines of the table; the ratio in each is that of otel-fastpath to OpenTelemetry."""
    legs = found["legs"]

    def row(title: str, value: Callable[[Mapping[str, Any]], Any], digits: int = 0) -> list[str]:
        figures = [value(leg) for leg in legs.values()]
        return [title, *(_shown(figure, digits) for figure in figures), _ratio(*figures[1:])]

    bare = legs[BARE]["cpu_us"]["median"]
    return [
        row("CPU per request (us)", lambda leg: leg["cpu_us"]),
        row("relative to no telemetry", lambda leg: leg["cpu_us"]["median"] / bare, 2),
        row("telemetry's share (us)", lambda leg: leg["telemetry_cpu_us"]),
        *(
            row(f"share of {name} (us)", lambda leg, name=name: leg["signals_cpu_us"].get(name))
            for name in legs[STOCK]["signals_cpu_us"]
        ),
        row("requests per second", lambda leg: leg["requests_per_second"]),
        row("latency p50 (ms)", lambda leg: leg["p50_ms"], 1),
        row("latency p99 (ms)", lambda leg: leg["p99_ms"], 1),
        row("spans received", lambda leg: leg["spans"]),
        row("metric series", lambda leg: leg["metric_series"]),
        *([row("log records received", lambda leg: leg["log_records"])] if "logs" in found["signals"] else []),
    ]


def _ratio(stock: Any, fastpath: Any) -> str:
    if isinstance(stock, dict):
        # A figure that noise can turn negative has no ratio.
        stock, fastpath = (each["median"] if each["low"] > 0 else None for each in (stock, fastpath))
    return f"x {fastpath / stock:.2f}" if stock and fastpath is not None else "-"


def _shown(figure: Any, digits: int) -> str:
    if figure is None:
        return "-"
    if isinstance(figure, dict):
        return f"{figure['median']:,.0f} ({figure['low']:,.0f} to {figure['high']:,.0f})"
    return f"{figure:,.{digits}f}"


def saved(found: Mapping[str, Any]) -> str:
    """How much less CPU telemetry takes with otel-fastpath."""
    stock, fastpath = (found["legs"][name]["telemetry_cpu_us"]["median"] for name in TRACED)
    return f"{1 - fastpath / stock:.0%} less" if 0 < fastpath < stock else f"{fastpath - stock:+.0f} us"


def summary(found: Mapping[str, Any]) -> str:
    """The result in two sentences."""
    stock, fastpath = (found["legs"][name]["telemetry_cpu_us"]["median"] for name in TRACED)
    left_out = f" Left out, because it is not installed: {', '.join(found['left_out'])}." if found["left_out"] else ""
    return (
        f"Telemetry takes {stock:,.0f} us of CPU per request with OpenTelemetry, and {fastpath:,.0f} us with "
        f"otel-fastpath: {saved(found)}. Medians of {found['runs']} runs (lowest to highest), each with new processes "
        f"and {found['rounds']} rounds of {found['requests_per_round']} requests in turns.{left_out}"
    )


def notes(found: Mapping[str, Any]) -> list[str]:
    """The result, and how it was measured."""
    return [summary(found), *([HOW] if found["legs"][STOCK]["signals_cpu_us"] else [])]


def show(console: Console, services: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the tables and what they say."""
    for found in services.values():
        table = Table(title=f"What telemetry costs: {found['title']}", box=box.SIMPLE_HEAD)
        table.add_column("")
        for title in (*TITLES.values(), RATIO):
            table.add_column(title, justify="right")
        for row in rows(found):
            table.add_row(*row)
        console.print(table)
        for note in notes(found):
            console.print(note, highlight=False)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], *, numbers: bool) -> str:
    rule = ["---", *(["---:" if numbers else "---"] * (len(head) - 1))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))


def markdown(found: Mapping[str, Any]) -> str:
    """The table as Markdown."""
    machine = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    table = _table(["", *TITLES.values(), RATIO], rows(found), numbers=True)
    return "\n\n".join([table, *notes(found), f"Python {found['machine']['python']}, {machine}."]) + "\n"


def gain(services: Mapping[str, Mapping[str, Any]]) -> str:
    """What telemetry costs each service, and how to measure one's own, as Markdown."""
    head = ["service", "it sends", "OpenTelemetry takes", "otel-fastpath takes", "how to find out"]
    lines = []
    for name, found in services.items():
        stock, fastpath = (found["legs"][base]["telemetry_cpu_us"]["median"] for base in TRACED)
        without = f" (without {' and '.join(found['left_out'])})" if found["left_out"] else ""
        costs = [f"{stock:,.0f} us of CPU per request", f"{fastpath:,.0f} us: {saved(found)}"]
        command = f'`make demo ARGS="--only {name}"`'
        lines.append([found["title"] + without, ", ".join(found["signals"]), *costs, command])
    lines.append(["your own", "what it sends", "", "", "`otel-fastpath try uvicorn app:app`"])
    return _table(head, lines, numbers=False) + "\n"


def page(services: Mapping[str, Mapping[str, Any]]) -> str:
    """The pictures and the tables of all services, as Markdown."""
    return "\n".join(
        f"![CPU per request: {found['title']}]({_picture(name)})\n\n{markdown(found)}"
        for name, found in services.items()
    )


def _picture(name: str) -> str:
    return f"demo-{name}.svg"


def write(services: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Write `result.json`, `gain.md`, `page.md`, and for each service its table and its picture."""
    texts = {"result.json": json.dumps(services, indent=2) + "\n", "gain.md": gain(services), "page.md": page(services)}
    for name, found in services.items():
        texts |= {f"{name}.md": markdown(found), _picture(name): draw(found, TITLES)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
