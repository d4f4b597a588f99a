"""Measures scenarios in fresh processes: counts in one process, times in several processes that take turns."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.counting import code_lines, native, processes
from otel_fastpath.tools.budget.limits import CACHE_LINES, COUNTS, INSTRUCTIONS, OF_BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from otel_fastpath.tools.budget.counting.processes import Job
    from otel_fastpath.tools.budget.declare import Declaration, Scenario

    # Does a job in a separate process; under callgrind if a folder for the profiles is given.
    Runner = Callable[[Job, "Path | None"], dict[str, Any]]

_IN_PYTHON: Final = ("bytecodes", "calls")


@dataclass
class Counted:
    """Exact counts per call.

    Attributes:
        values: The counts, by scenario and metric.
        reasons: The reasons why there is no count, by scenario and metric.
        totals: The instructions of the whole instrumented call, by scenario.
        is_fast: Whether otel-fastpath was active, by scenario.
    """

    values: dict[str, dict[str, float]] = field(default_factory=dict)
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    is_fast: dict[str, bool] = field(default_factory=dict)

    def value(self, scenario: str, metric: str) -> float | None:
        """Return a count, or None if there is none."""
        return self.values.get(scenario, {}).get(metric)

    def reason(self, scenario: str, metric: str) -> str:
        """The reason why there is no count."""
        return self.reasons.get(scenario, {}).get(metric, "it was not counted")

    def set_reason(self, scenarios: Iterable[Scenario], metric: str, reason: str) -> None:
        """Record why scenarios have no count."""
        for scenario in scenarios:
            self.reasons.setdefault(scenario.name, {})[metric] = reason

    def update(self, later: Counted) -> None:
        """Replace the known values with those of a later count."""
        for name, values in later.values.items():
            self.values.setdefault(name, {}).update(values)


def paths(declaration: Declaration, *, compared: bool) -> tuple[str, ...]:
    """The folders that head's modules are imported from; in a comparison its own sources come first, as base's do."""
    folders = [*declaration.source, *declaration.path] if compared else declaration.path
    return tuple(dict.fromkeys(map(str, folders)))


def check_answer(declaration: Declaration, scenario: Scenario, found: dict[str, Any]) -> dict[str, Any]:
    """Return a worker's answer for one scenario, or raise its mistake in the declaration.

    Raises:
        DeclarationError: A declared callable does not exist, or cannot be used as declared.
    """
    key = found.get("key")
    if key:
        raise declaration.error(
            f"{scenario.key}.{key}", getattr(scenario, key), _EXPECTED.get(key, "") + f"; {found['error']}"
        )
    return found


_EXPECTED: Final = {
    "bare": "an importable callable, async if and only if instrumented is",
    "instrumented": "an importable callable, async if and only if bare is",
    "setup": "an importable callable",
}


def count(
    declaration: Declaration,
    wanted: Sequence[tuple[Scenario, Sequence[str]]],
    base: tuple[str, ...] | None,
    progress: Callable[[str], None],
    *,
    compared: bool,
    run: Runner,
    seeds: Sequence[int] = (0,),
) -> Counted:
    """Count the wanted metrics of each scenario.

    Args:
        declaration: The project's declaration.
        wanted: The scenarios with the metrics to count.
        base: The folders of another version to count instead of head.
        progress: Called with a text for each step.
        compared: Whether this count is part of a comparison.
        run: Starts the processes.
        seeds: The hash seeds, one for each count of instructions. The memory layout changes these counts by up to a
            few per cent, so the median is used.

    Raises:
        DeclarationError: A scenario is not as declared.
    """
    counted = Counted()
    with tempfile.TemporaryDirectory(prefix="otel-fastpath-") as name:
        folder = Path(name)
        libraries: dict[str, str] = {}
        for kind in native.KINDS:
            scenarios = [scenario for scenario, metrics in wanted if kind in metrics]
            try:
                if scenarios:
                    libraries[kind] = str(native.build(kind, folder))
            except native.MissingToolError as missing:
                counted.set_reason(scenarios, kind, str(missing))
        # Elsewhere it makes no difference whether modules are compiled, which takes most of a process's time.
        has_own = sys.dont_write_bytecode or any(metric in OF_BUILD for _, metrics in wanted for metric in metrics)
        job = processes.Job(
            "count",
            (),
            paths(declaration, compared=compared),
            base or (),
            libraries=libraries,
            bytecode=str(folder / "bytecode") if has_own else "",
        )
        one = _One(declaration, counted, job, run)
        # Use one process for each metric, so that counting one metric cannot change the count of another.
        for metric in COUNTS:
            scenarios = [scenario for scenario, metrics in wanted if metric in metrics]
            if scenarios and (metric in _IN_PYTHON or metric in libraries):
                for seed in seeds if metric == INSTRUCTIONS else seeds[:1]:
                    progress(f"{metric} of {len(scenarios)} scenarios")
                    one.count(scenarios, metric, folder / f"{metric}-{seed}", seed)
    for name, metrics in one.found.items():
        counted.values[name] = {metric: median(values) for metric, values in metrics.items()}
    return counted


@dataclass
class _One:
    declaration: Declaration
    counted: Counted
    job: Job
    run: Runner
    found: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def count(self, scenarios: list[Scenario], metric: str, folder: Path, seed: int) -> None:
        profiles = folder if metric in OF_BUILD else None
        job = replace(self.job, scenarios=tuple(scenarios), metrics=(metric,), seed=seed)
        try:
            if profiles:
                profiles.mkdir()
                if not Path(job.bytecode).exists():
                    # Compiling under valgrind would take longer than this.
                    self.run(replace(job, metrics=()), None)
            answers = self.run(job, profiles)
        except processes.WorkerError as error:
            self.counted.set_reason(scenarios, metric, str(error))
            return
        instructions = native.read_instructions(folder) if metric == INSTRUCTIONS else {}
        lines = code_lines.read(folder) if metric == CACHE_LINES else {}
        for index, scenario in enumerate(scenarios):
            found = answers[scenario.name]
            if not self.job.base:
                check_answer(self.declaration, scenario, found)
            value = lines.get(str(index), found.get(metric))
            if "is_fast" in found:
                self.counted.is_fast[scenario.name] = found["is_fast"]
            if str(index) in instructions:
                value, self.counted.totals[scenario.name] = instructions[str(index)]
            if value is None:
                self.counted.set_reason([scenario], metric, found.get("error", "callgrind left no profile"))
            else:
                self.found.setdefault(scenario.name, {}).setdefault(metric, []).append(value)


class Timed:
    """The estimates of one scenario, measured in batches of processes.

    Attributes:
        batches: The answers of each batch.
        error: The reason why there are none.
    """

    def __init__(self, declaration: Declaration, scenario: Scenario, job: Job, run: Runner) -> None:
        self.scenario = scenario
        self.batches: list[list[dict[str, Any]]] = []
        self.error = ""
        self._declaration = declaration
        self._job = job
        self._run = run
        self._seed = 0

    def start_batch(self) -> None:
        """Start a batch: later measurements confirm the earlier ones."""
        self.batches.append([])

    def measure(self) -> None:
        """Measure in one more process; do nothing after a failure.

        Raises:
            DeclarationError: The scenario is not as declared.
        """
        if self.error:
            return
        self._seed += 1
        try:
            answers = self._run(replace(self._job, seed=self._seed), None)
        except processes.WorkerError as error:
            self.error = str(error)
            return
        found = check_answer(self._declaration, self.scenario, answers[self.scenario.name])
        if "error" in found:
            self.error = found["error"]
        else:
            self.batches[-1].append(found)

    def estimates(self, key: str) -> tuple[list[float], list[float]]:
        """One figure of each process of the first batch, and of each process of the later batches."""
        first, *later = self.batches
        return [answer[key] for answer in first], [answer[key] for batch in later for answer in batch]

    def every(self, key: str) -> list[float]:
        """One figure of every process."""
        return [answer[key] for batch in self.batches for answer in batch]
