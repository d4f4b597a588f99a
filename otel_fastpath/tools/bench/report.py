"""The results of a bench, as a report for people and as JSON."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.bench.leg import BARE, FASTPATH, LEGS, STOCK
from otel_fastpath.tools.bench.probes import PROBES
from otel_fastpath.tools.bench.saving import LEAST_ROUNDS
from otel_fastpath.tools.budget.estimate import over_processes
from otel_fastpath.tools.budget.results import SCHEMA
from otel_fastpath.tools.common.render import check_report as rendering
from otel_fastpath.tools.common.render.document import (
    GOOD,
    MUTE,
    PLAIN,
    UNSURE,
    Cell,
    Chart,
    Document,
    Mark,
    Table,
    figure,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.tools.bench.operation import MeasuredOperation
    from otel_fastpath.tools.budget.estimate import Interval

_COLUMNS: Final = (
    "operation",
    ">bare us",
    ">stock adds us",
    ">fastpath adds us",
    ">fastpath/stock",
    ">interval",
    "note",
)
# A telemetry cost below this share of the bare call cannot be measured.
_LEAST_SHARE: Final = 0.03
# Rounds on one machine agree only to a few per cent, even if their interval is narrower.
_TELLING: Final = 0.97
_NOTHING: Final = "the cost of stock cannot be distinguished from noise"


def loaded(answers: dict[str, Any]) -> dict[str, Any]:
    """Facts about what the legs loaded."""
    stock, patches = answers.get(STOCK, {}), answers.get("patches", {})
    return {
        "instrumentations": ", ".join(stock.get("active", ())) or "none",
        "instrumentations that failed": "; ".join(stock.get("failed", ())) or "none",
        "patches": ", ".join(f"{count} {state}" for state, count in patches.items()) or "none",
    }


def document(
    operations: Sequence[MeasuredOperation], facts: dict[str, Any], seconds: float, refused: Sequence[str] = ()
) -> Document:
    """The report for people."""
    measured = [each for each in operations if each.rounds]
    marks = tuple(_mark(each) for each in measured)
    chart = Chart("What fastpath adds, as a share of what stock OpenTelemetry adds", "stock", marks)
    return Document(
        title="What telemetry costs in this environment",
        summary=_summary(operations, seconds),
        tables=(Table(_COLUMNS, tuple(_row(each) for each in operations)),),
        charts=(chart,) if marks else (),
        facts=rendering.facts(facts),
        notes=(*_notes(operations, facts), *refused),
    )


def _notes(operations: Sequence[MeasuredOperation], facts: dict[str, Any]) -> list[str]:
    known = {name for probe in PROBES for name in probe.instrumentations}
    active = [name for name in facts["instrumentations"].split(", ") if name != "none"]
    unknown = [name for name in active if name not in known]
    notes = [f"instrumentations active here: {facts['instrumentations']}; patches: {facts['patches']}"]
    if unknown:
        notes.append(f"no built-in operation uses {', '.join(unknown)}: declare a scenario to measure them")
    if facts["instrumentations that failed"] != "none":
        notes.append(f"instrumentations that failed: {facts['instrumentations that failed']}")
    if any(each.rounds and len(each.rounds) < LEAST_ROUNDS for each in operations):
        notes.append(f"--rounds {LEAST_ROUNDS} or more give an interval")
    notes.append("medians of paired differences on this machine at this moment; spans are dropped, nothing is sent")
    return notes


def _row(operation: MeasuredOperation) -> tuple[Cell, ...]:
    if not operation.rounds:
        empty = [Cell("")] * (len(_COLUMNS) - 2)
        return (Cell(operation.name), *empty, Cell(f"not measured: {operation.skipped}", MUTE))
    stock, fastpath = median(operation.cost(STOCK)), median(operation.cost(FASTPATH))
    interval = _share(operation)
    return (
        Cell(operation.name),
        Cell(figure(operation.bare())),
        Cell(figure(stock)),
        Cell(figure(fastpath)),
        Cell(f"{interval.value:.0%}" if interval else "-", _tone(operation, interval)),
        Cell(f"{interval.low:.0%} .. {interval.high:.0%}" if interval and _is_enough(operation) else "", MUTE),
        Cell("" if interval else _NOTHING, MUTE),
    )


def _share(operation: MeasuredOperation) -> Interval | None:
    """Fastpath's cost as a share of stock's cost; None if stock's cost cannot be distinguished from noise."""
    if min(operation.cost(STOCK)) < operation.bare() * _LEAST_SHARE:
        return None
    return over_processes(operation.shares())


def _is_enough(operation: MeasuredOperation) -> bool:
    """Whether there are enough rounds for an interval."""
    return len(operation.rounds) >= LEAST_ROUNDS


def _tone(operation: MeasuredOperation, interval: Interval | None) -> str:
    if interval is None or not _is_enough(operation):
        return PLAIN
    return GOOD if interval.high < _TELLING else UNSURE if interval.low > 1 / _TELLING else PLAIN


def _mark(operation: MeasuredOperation) -> Mark:
    interval = _share(operation)
    if interval is None:
        return Mark(operation.name, _NOTHING)
    costs = f"{figure(median(operation.cost(STOCK)))} -> {figure(median(operation.cost(FASTPATH)))} us"
    points = tuple(operation.shares())
    low, high = (interval.low, interval.high) if _is_enough(operation) else (None, None)
    return Mark(operation.name, costs, _tone(operation, interval), points, interval.value, low, high, bar=True)


def _summary(operations: Sequence[MeasuredOperation], seconds: float) -> Cell:
    measured = [each for each in operations if each.rounds]
    shares = [interval.value for interval in map(_share, measured) if interval]
    texts = [f"{len(measured)} of {len(operations)} operations measured in {seconds:.0f} s"]
    if shares:
        texts.append(f"fastpath adds {median(shares):.0%} of what stock adds (median over the operations)")
    return Cell("; ".join(texts), PLAIN if measured else UNSURE)


def machine(operations: Sequence[MeasuredOperation], facts: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The report for programs; `schema` changes when the meaning of a field changes."""
    results = []
    for each in operations:
        result: dict[str, Any] = {"operation": each.name, "skipped": each.skipped}
        if each.rounds:
            result["us"] = {leg: [median(one[leg]) / 1000 for one in each.rounds] for leg in LEGS}
            result["adds_us"] = {leg: each.cost(leg) for leg in LEGS if leg != BARE}
            result["fastpath_of_stock"] = each.shares()
        results.append(result)
    return {
        "schema": SCHEMA,
        "kind": "otel-fastpath bench",
        "results": results,
        "environment": facts,
        "seconds": round(seconds, 3),
    }
