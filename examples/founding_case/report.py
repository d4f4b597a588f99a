"""The results of the founding case, as a table and as JSON."""

import json
import platform
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from examples.founding_case.measure import Leg, Ratio
from examples.founding_case.services import FASTPATH, WITH, WITHOUT
from examples.founding_case.world import CLIENTS

TITLES = {WITHOUT: "without it", WITH: "with it", FASTPATH: "with it and otel-fastpath"}
# How much more CPU a request may take with the instrumentation and otel-fastpath than without either.
MOST = 1.10


def result(legs: Mapping[str, Leg], received: Mapping[str, Any], versions: Mapping[str, str]) -> dict[str, Any]:
    """Put everything that was measured into one JSON-able dictionary."""
    faults = [fault for name in (WITH, FASTPATH) for fault in _faults(legs[name], received[name])]
    if set(received[WITH]["spans"]) != set(received[FASTPATH]["spans"]):
        faults.append("the spans with otel-fastpath are not those without it")
    return {
        "machine": {"python": platform.python_version(), "system": platform.platform(terse=True)},
        "versions": dict(versions),
        "clients": CLIENTS,
        "most": MOST,
        "legs": {name: _leg(leg, legs[WITHOUT], received.get(name)) for name, leg in legs.items()},
        "gone": 1 - legs[FASTPATH].cpu_per_request / legs[WITH].cpu_per_request,
        "faults": faults,
    }


def _leg(leg: Leg, base: Leg, received: Mapping[str, Any] | None) -> dict[str, Any]:
    ratio = Ratio.of(leg, base)
    return {
        "requests": leg.requests,
        "rounds": len(leg.rounds),
        "cpu_ms": leg.cpu_per_request * 1e3,
        "cpu_ratio": ratio.value,
        "cpu_ratio_interval": [ratio.low, ratio.high],
        "cpu_ms_rounds": [used * 1e3 for used in leg.rounds],
        "requests_per_second": statistics.mean(leg.requests_per_second),
        "p50_ms": statistics.median(leg.latencies) * 1e3,
        "spans": received["span_count"] if received else 0,
    }


def _faults(leg: Leg, received: Mapping[str, Any]) -> list[str]:
    """The faults that the receiver found in a service's telemetry."""
    found = [f"{leg.name}: {count} x {fault}" for fault, count in received["faults"].items()]
    if received["span_count"] != leg.requests:
        found.append(f"{leg.name}: {received['span_count']} spans were received of {leg.requests} requests")
    return found


def rows(found: Mapping[str, Any]) -> list[list[str]]:
    """The table: a title and the cells of the three services."""
    legs = found["legs"]
    rate = legs[WITHOUT]["requests_per_second"]
    wanted = {
        "CPU per request (ms)": lambda leg: f"{leg['cpu_ms']:.1f}",
        "times the first": lambda leg: f"x {leg['cpu_ratio']:.2f}",
        "90 % interval": lambda leg: "x {:.2f} - {:.2f}".format(*leg["cpu_ratio_interval"]),
        "requests per second": lambda leg: f"{leg['requests_per_second']:.0f}",
        "share of the first": lambda leg: f"{leg['requests_per_second'] / rate:.0%}",
        "latency p50 (ms)": lambda leg: f"{leg['p50_ms']:,.0f}",
        "rounds": lambda leg: f"{leg['rounds']:,}",
        "requests": lambda leg: f"{leg['requests']:,}",
        "spans received": lambda leg: f"{leg['spans']:,}",
    }
    return [[title, *(cell(legs[name]) for name in TITLES)] for title, cell in wanted.items()]


def summary(found: Mapping[str, Any]) -> str:
    """A summary of the table, with the versions measured."""
    return (
        f"{found['clients']} clients; of the CPU of the second, {found['gone']:.0%} is gone in the third. "
        + ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    )


# The exit code of a measurement that says nothing.
INCONCLUSIVE = 3


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print the table."""
    name, release = "opentelemetry-instrumentation-openai", found["versions"]["opentelemetry-instrumentation-openai"]
    table = Table(title=f"What {name} {release} costs a service", box=box.SIMPLE_HEAD)
    table.add_column("")
    for title in TITLES.values():
        table.add_column(title, justify="right")
    for row in rows(found):
        table.add_row(*row)
    console.print(table)
    console.print(summary(found), highlight=False)


def markdown(found: Mapping[str, Any]) -> str:
    """The table as Markdown, for a README."""
    lines = [["", *TITLES.values()], ["---", *["---:"] * len(TITLES)], *rows(found)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{summary(found)}, Python {found['machine']['python']}.\n"


def write(found: Mapping[str, Any], folder: Path) -> None:
    """Write `result.json` and `result.md`."""
    (folder / "result.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (folder / "result.md").write_text(markdown(found), encoding="utf-8")


def verdict(console: Console, found: Mapping[str, Any]) -> int:
    """Say whether the service is cured.

    Returns:
        The exit code: 1 if it is not, or if what was measured is not what should have been; `INCONCLUSIVE` if the
        machine was too busy to say.
    """
    ratio, most = found["legs"][FASTPATH]["cpu_ratio"], found["most"]
    for fault in found["faults"]:
        console.print(f"  - {fault}", style="red", markup=False, highlight=False)
    said = f"with otel-fastpath a request takes {ratio - 1:+.0%} CPU of one without the instrumentation"
    low, high = found["legs"][FASTPATH]["cpu_ratio_interval"]
    if found["faults"]:
        return 1
    if low <= most < high:
        console.print(
            f"too busy a machine to say whether the service is cured: it takes x {low:.2f} to {high:.2f} of the CPU "
            f"without the instrumentation, and x {most:.2f} is the most",
            style="red",
            highlight=False,
        )
        return INCONCLUSIVE
    if ratio > most:
        console.print(f"{said}: more than the {most - 1:.0%} that it may", style="red", highlight=False)
        return 1
    console.print(f"{said}: within {most - 1:.0%}", style="green", highlight=False)
    return 0
