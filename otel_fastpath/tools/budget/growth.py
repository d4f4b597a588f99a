"""The functions that a scenario's counts are in, and which of them have grown since they were calibrated."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget import measuring
from otel_fastpath.tools.budget.counting import processes
from otel_fastpath.tools.budget.limits import COUNTS
from otel_fastpath.tools.budget.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    job = processes.Job("count", (scenario,), measuring.paths(declaration, compared=False), metrics=("functions",))
    try:
        found = measuring.check_answer(declaration, scenario, run(job, None)[scenario.name])
    except processes.WorkerError as error:
        raise NotCountedError(str(error)) from None
    if "functions" not in found:
        raise NotCountedError(found.get("error", "the process that counts gave no answer"))
    return [each for each in found["functions"] if each["bytecodes"] or each["calls"]]


def label(declaration: Declaration, function: dict[str, Any]) -> str:
    """The function's name and file, the same on every machine and after lines were added above it."""
    file = function["place"].rpartition(":")[0]
    for folder in (*_INSTALLED, str(declaration.folder)):
        if Path(file).is_relative_to(folder):
            return f"{function['name']} ({Path(file).relative_to(folder).as_posix()})"
    return f"{function['name']} ({Path(file).name})"


def record(declaration: Declaration, scenarios: Iterable[Scenario], run: Runner) -> dict[str, dict[str, float]]:
    """Count the bytecodes of each scenario's first functions, by scenario and label."""
    recorded = {}
    for scenario in scenarios:
        try:
            found = count(declaration, scenario, run)[: declaration.functions]
        except NotCountedError:
            continue
        recorded[scenario.name] = {label(declaration, each): each["bytecodes"] for each in found}
    return recorded


def find_grown(
    declaration: Declaration, known: Calibration | None, results: Iterable[Result], run: Runner
) -> dict[str, list[dict[str, Any]]]:
    """Find, for the first scenarios with a count above its limit, the functions that have grown.

    Args:
        declaration: The project's declaration.
        known: The calibrated values, if they are valid here.
        results: The results of a check.
        run: Starts the processes.

    Returns:
        By scenario, the functions that grew most: `function`, the bytecodes per call that it `was` calibrated with, and
        those `now`. Where none were calibrated (`was` is None everywhere), those with the most bytecodes. A scenario
        whose functions cannot be counted is left out.
    """
    failed = [each.scenario for each in results if each.verdict is Verdict.FAIL and each.metric in COUNTS]
    grown = {}
    for name in list(dict.fromkeys(failed))[:_MOST_SCENARIOS]:
        was = {} if known is None else known.functions.get(name, {})
        try:
            found = count(declaration, declaration.scenarios[name], run)
        except NotCountedError:
            continue
        # Of those that were not calibrated, one below the last that was may be as it was.
        least = min(was.values()) if was and len(was) >= declaration.functions else 0.0
        rows = [
            {"function": known_as, "was": was.get(known_as), "now": each["bytecodes"]}
            for each in found
            if each["bytecodes"] > was.get(known_as := label(declaration, each), least)
        ]
        grown[name] = sorted(rows, key=lambda row: (row["was"] or 0.0) - row["now"])[:_MOST_FUNCTIONS]
    return grown
