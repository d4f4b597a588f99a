"""The functions that a scenario's counts are in, and which of them have grown since they were calibrated."""

from __future__ import annotations

import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget import measuring
from otel_fastpath.tools.budget.counting import processes
from otel_fastpath.tools.budget.limits import COUNTS
from otel_fastpath.tools.budget.results import Growth, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from otel_fastpath.tools.budget.calibration import Calibration
    from otel_fastpath.tools.budget.declare import Declaration, Scenario
    from otel_fastpath.tools.budget.measuring import Runner
    from otel_fastpath.tools.budget.results import Result

# How many scenarios that fail are looked into, and how many functions of each are shown.
_MOST_SCENARIOS: Final = 3
_MOST_FUNCTIONS: Final = 5
# Where the standard library and installed packages are, the longest first: one is within the other.
_INSTALLED: Final = sorted({sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib")}, key=len)[::-1]


class NotCountedError(Exception):
    """The functions could not be counted; the message is one line."""


def count(declaration: Declaration, scenario: Scenario, run: Runner = processes.run) -> list[dict[str, Any]]:
    """Count each function's bytecodes and calls, per call of the scenario, instrumented minus bare.

    Returns:
        `name`, `place` ("file:line"), `bytecodes` and `calls` of each function, the one with the most bytecodes first.

    Raises:
        DeclarationError: The scenario is not as declared.
        NotCountedError: The process that counts failed.
    """
    return _functions(declaration, scenario, _count(declaration, [scenario], run))


def _count(declaration: Declaration, scenarios: Iterable[Scenario], run: Runner) -> dict[str, Any]:
    path = measuring.paths(declaration, compared=False)
    try:
        return run(processes.Job("count", tuple(scenarios), path, metrics=("functions",)), None)
    except processes.WorkerError as error:
        raise NotCountedError(str(error)) from None


def _functions(declaration: Declaration, scenario: Scenario, counted: dict[str, Any]) -> list[dict[str, Any]]:
    found = measuring.check_answer(declaration, scenario, counted[scenario.name])
    if "functions" not in found:
        raise NotCountedError(found.get("error", "the process that counts gave no answer"))
    return [each for each in found["functions"] if each["bytecodes"] or each["calls"]]


def _functions_of_each(
    declaration: Declaration, scenarios: Collection[Scenario], run: Runner
) -> dict[str, list[dict[str, Any]]]:
    """The functions of each scenario by name, without those that could not be counted."""
    found = {}
    with suppress(NotCountedError):
        counted = _count(declaration, scenarios, run) if scenarios else {}
        for scenario in scenarios:
            with suppress(NotCountedError):
                found[scenario.name] = _functions(declaration, scenario, counted)
    return found


def label(declaration: Declaration, function: dict[str, Any]) -> str:
    """The function's name and file, the same on every machine and after lines were added above it."""
    file = function["place"].rpartition(":")[0]
    for folder in (*_INSTALLED, str(declaration.folder)):
        if Path(file).is_relative_to(folder):
            return f"{function['name']} ({Path(file).relative_to(folder).as_posix()})"
    return f"{function['name']} ({Path(file).name})"


def record(declaration: Declaration, scenarios: Collection[Scenario], run: Runner) -> dict[str, dict[str, float]]:
    """Count the bytecodes of each scenario's first functions, by scenario and label."""
    return {
        name: {label(declaration, each): each["bytecodes"] for each in found[: declaration.functions]}
        for name, found in _functions_of_each(declaration, scenarios, run).items()
    }


def find_grown(
    declaration: Declaration, known: Calibration | None, results: Iterable[Result], run: Runner
) -> dict[str, Growth]:
    """Find, for the first scenarios with a count above its limit, the functions that have grown.

    Args:
        declaration: The project's declaration.
        known: The calibrated values, if they are valid here.
        results: The results of a check.
        run: Starts the processes.

    Returns:
        By scenario, the functions that grew most. A scenario whose functions cannot be counted is left out.
    """
    failed = [each.scenario for each in results if each.verdict is Verdict.FAIL and each.metric in COUNTS]
    scenarios = [declaration.scenarios[name] for name in list(dict.fromkeys(failed))[:_MOST_SCENARIOS]]
    grown = {}
    for name, found in _functions_of_each(declaration, scenarios, run).items():
        was = {} if known is None else known.functions.get(name, {})
        # Of those that were not calibrated, one below the last that was may be as it was.
        least = min(was.values()) if was and len(was) >= declaration.functions else 0.0
        rows = [
            {"function": known_as, "was": was.get(known_as), "now": each["bytecodes"]}
            for each in found
            if each["bytecodes"] > was.get(known_as := label(declaration, each), least)
        ]
        first = sorted(rows, key=lambda row: (row["was"] or 0.0) - row["now"])[:_MOST_FUNCTIONS]
        grown[name] = Growth(bool(was), first)
    return grown
