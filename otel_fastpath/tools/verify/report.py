"""The result of a comparison, as a report for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.results import SCHEMA
from otel_fastpath.tools.common.program import FASTPATH, STOCK
from otel_fastpath.tools.common.render.document import BAD, GOOD, Cell, Document, Table
from otel_fastpath.tools.verify.comparing import Difference

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from otel_fastpath.tools.verify.comparing import Comparison

_COLUMNS: Final = ("signal", "scope", "name", "field", "only stock", "only otel-fastpath")
# The terminal shows this many differences; JSON has all.
_MOST: Final = 50
_PAGE: Final = "docs/differences.md"


def add_statuses(comparison: Comparison, statuses: Mapping[str, Sequence[int]]) -> None:
    """Add the exit statuses of the program, which are a difference if none of the runs of both sides agree."""
    stock, fastpath = ({*statuses[leg]} for leg in (STOCK, FASTPATH))
    if not stock & fastpath:
        shown = (" or ".join(map(str, sorted(each))) for each in (stock, fastpath))
        comparison.differences.append(Difference("program", "", "", "exit status", *shown))


def document(comparison: Comparison, failed: Collection[int] = (), notes: Sequence[str] = ()) -> Document:
    """The report for people.

    Args:
        comparison: What was found.
        failed: The exit statuses of runs that failed.
        notes: Further remarks.
    """
    rows = tuple(
        tuple(Cell(text) for text in (each.signal, each.scope, each.name, each.field, each.stock, each.fastpath))
        for each in comparison.differences[:_MOST]
    )
    return Document(
        title="The telemetry of this program with stock OpenTelemetry and with otel-fastpath",
        summary=_summary(comparison, failed),
        tables=(Table(_COLUMNS, rows),) if rows else (),
        notes=(*_notes(comparison), *notes),
    )


def _summary(comparison: Comparison, failed: Collection[int]) -> Cell:
    counts = comparison.counted
    if comparison.differences:
        number = len(comparison.differences)
        return Cell(f"different: {number} difference{'s' * (number != 1)} in {counts}", BAD)
    if failed:
        statuses = " or ".join(map(str, sorted(failed)))
        return Cell(
            f"the program failed with exit status {statuses}; what it sent until then is the same: {counts}", BAD
        )
    return Cell(f"the same telemetry: {counts}", GOOD)


def _notes(comparison: Comparison) -> Iterator[str]:
    more = len(comparison.differences) - _MOST
    if more > 0:
        yield f"and {more} more differences: --json has all"
    for library, (ours, theirs) in comparison.own.items():
        yield (
            f"{library}: otel-fastpath sent {ours} items under its own scope and conventions, stock OpenTelemetry "
            f"{theirs}; they are not compared ({_PAGE})"
        )
    for name, what in _known(comparison).items():
        yield f"{name} differs as it is meant to ({_PAGE}): {what}"
    names = sorted({f"{name}: {field}" for _, _, name, field in comparison.varying})
    if names:
        shown = "; ".join(names[:_MOST] + ["..."] * (len(names) > _MOST))
        yield f"varies with stock OpenTelemetry, and was compared less strictly: {shown}"


def _known(comparison: Comparison) -> dict[str, str]:
    """By its name, what differs as the list of known differences says."""
    return {each.name: entry.what for each, entry in comparison.listed}


def machine(comparison: Comparison, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "schema": SCHEMA,
        "is_the_same": not comparison.differences,
        "counts": dict(comparison.counts),
        "differences": [asdict(each) for each in comparison.differences],
        "listed": _known(comparison),
        "varying": [dict(zip(("signal", "scope", "name", "field"), each, strict=True)) for each in comparison.varying],
        "notes": list(notes),
        "own": {name: {"fastpath": ours, "stock": theirs} for name, (ours, theirs) in comparison.own.items()},
    }
