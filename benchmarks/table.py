"""A table of hooks in several set-ups: machine instructions, and times from processes that take turns.

    sys.exit(main("The life of a span", "bench_span", ROWS, ("stock", "pure", "compiled")))

`ROWS` maps a row's name to its bare and instrumented callables in that module; set-ups are functions of it too.
Every figure is instrumented minus bare, for one call.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from otel_fastpath.tools.bench.lockstep import Leg, LegError, all_at_once, take_turns
from otel_fastpath.tools.budget import declare, measuring
from otel_fastpath.tools.budget.counting import processes
from otel_fastpath.tools.budget.declare import Declaration, Scenario
from otel_fastpath.tools.budget.environment import facts
from otel_fastpath.tools.budget.outputs import add_outputs, write
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.common.render.check_report import facts as fact_lines
from otel_fastpath.tools.common.render.document import MUTE, Cell, Document, Table, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FOLDER = Path(__file__).resolve().parent
THOUSAND = 1000


def main(
    title: str,
    module: str,
    rows: Mapping[str, Sequence[Callable[..., Any]]],
    setups: Sequence[str],
    distributions: Sequence[str] = (),
) -> int:
    """Measure, print, and write the requested files; the versions of `distributions` are added to the facts."""
    parser = argparse.ArgumentParser(description=f"{title}: {', '.join(setups)}, side by side.")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--cycles", type=int, default=100, help="blocks of each row and set-up (default %(default)s)")
    parser.add_argument("--no-instructions", action="store_true", help="times only")
    parser.add_argument("--no-times", action="store_true", help="instructions only")
    add_outputs(parser)
    options = parser.parse_args()
    chosen = {
        name: (f"{module}:{bare.__name__}", f"{module}:{instrumented.__name__}")
        for name, (bare, instrumented) in rows.items()
        if options.only in name
    }
    show = progress.bar(sys.stderr)
    counted = {} if options.no_instructions else instructions(module, chosen, setups, show)
    times, failed = ({}, {}) if options.no_times else timed(module, chosen, setups, options.cycles, show)
    named = (*declare.DEFAULT_DISTRIBUTIONS, *distributions)
    document = _document(title, chosen, setups, counted, times, failed, named)
    write(options, document, {"title": title, "instructions": counted, "microseconds": times, "failed": failed})
    return 0 if counted or times else 4


def instructions(
    module: str, rows: Mapping[str, tuple[str, str]], setups: Sequence[str], show: Callable[[int, int, str], None]
) -> dict[str, dict[str, float]]:
    """Machine instructions of a call by row and set-up."""
    scenarios = {
        f"{name}|{setup}": Scenario(f"{name}|{setup}", *places, setup=f"{module}:{setup}", key=name)
        for name, places in rows.items()
        for setup in setups
    }
    declaration = Declaration(FOLDER / f"{module}.py", scenarios, path=(FOLDER,))
    wanted = [(each, ("instructions",)) for each in scenarios.values()]
    show(0, 1, "instructions")
    found = measuring.count(declaration, wanted, None, lambda _text: None, compared=False, run=processes.run)
    for name, reasons in found.reasons.items():
        sys.stderr.write(f"{name}: instructions: {reasons['instructions']}\n")
    result: dict[str, dict[str, float]] = {}
    for name, values in found.values.items():
        row, _, setup = name.partition("|")
        result.setdefault(row, {})[setup] = values["instructions"]
    return result


def timed(
    module: str,
    rows: Mapping[str, tuple[str, str]],
    setups: Sequence[str],
    cycles: int,
    show: Callable[[int, int, str], None],
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Microseconds of a call by row and set-up, from processes that take turns; also the reasons if there are none."""
    result: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryFile("w+") as log:
        legs = [Leg(setup, "", [str(FOLDER)], log) for setup in setups]
        try:
            for index, (name, (bare, instrumented)) in enumerate(rows.items()):
                show(index, len(rows), name)
                ready = _ready(legs, bare, instrumented, module)
                failed.update({f"{name}, {leg}": why for leg, why in ready.items() if why})
                able = [leg for leg in legs if not ready[leg.name]]
                if able:
                    found = take_turns(able, cycles, index, with_bare=True)
                    result[name] = {setup: median(each) / THOUSAND for setup, each in found.items()}
                all_at_once(legs, lambda _leg: ("end",))
        finally:
            for leg in legs:
                leg.stop()
    show(1, 1, "")
    return result, failed


def _ready(legs: Sequence[Leg], bare: str, instrumented: str, module: str) -> dict[str, str]:
    """Set up a row in every leg; return the reason if that is not possible."""
    return {leg.name: _prepared(leg, bare, instrumented, module) for leg in legs}


def _prepared(leg: Leg, bare: str, instrumented: str, module: str) -> str:
    try:
        leg.ask("scenario", bare, instrumented, f"{module}:{leg.name}")
    except LegError as error:
        return str(error)
    return ""


def _document(
    title: str,
    rows: Mapping[str, Any],
    setups: Sequence[str],
    counted: Mapping[str, Mapping[str, float]],
    times: Mapping[str, Mapping[str, float]],
    failed: Mapping[str, str],
    distributions: Sequence[str],
) -> Document:
    columns = ["operation"]
    columns += [f">{setup}, 1,000 instr." for setup in setups] if counted else []
    columns += [f">{setup}, us" for setup in setups] if times else []
    columns += [f">{setup}/{setups[0]}" for setup in setups[1:]]
    lines = []
    for name in rows:
        counts, spent = counted.get(name, {}), times.get(name, {})
        line = [Cell(name)]
        line += [_cell(counts.get(setup), 1 / THOUSAND) for setup in setups] if counted else []
        line += [_cell(spent.get(setup), 1.0) for setup in setups] if times else []
        # Show times if there are any: instructions do not include waiting.
        basis = spent or counts
        first = basis.get(setups[0])
        line += [
            Cell(f"{basis[setup] / first:.1%}", MUTE) if first and setup in basis else Cell("-", MUTE)
            for setup in setups[1:]
        ]
        lines.append(tuple(line))
    return Document(
        title=title,
        summary=Cell(
            "Times are medians of blocks that take turns; compare columns in one row, not rows from different runs"
        ),
        tables=(Table(tuple(columns), tuple(lines)),),
        facts=fact_lines(facts(distributions)),
        notes=tuple(f"not measured: {name}: {why}" for name, why in failed.items()),
    )


def _cell(value: float | None, factor: float) -> Cell:
    return Cell("-") if value is None else Cell(figure(round(value * factor, 4)))
