"""Checks budgets: measures the declared scenarios and judges their limits."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget import calibration, environment, growth, limits, measuring
from otel_fastpath.tools.budget.blocks import MeasurementPlan
from otel_fastpath.tools.budget.counting.processes import Job
from otel_fastpath.tools.budget.counting.processes import run as run_job
from otel_fastpath.tools.budget.declare import is_chosen
from otel_fastpath.tools.budget.judging import Judge, stock_of
from otel_fastpath.tools.budget.results import BudgetReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.budget.base import Base
    from otel_fastpath.tools.budget.calibration import Calibration
    from otel_fastpath.tools.budget.declare import Declaration, Scenario
    from otel_fastpath.tools.budget.limits import Limit
    from otel_fastpath.tools.budget.measuring import Counted, Runner, Timed
    from otel_fastpath.tools.budget.results import Result

    Wanted = dict[str, tuple[Scenario, list[Limit]]]

# Batches of processes after the first: one to confirm a breach, the others if the result is still open.
MOST_CONFIRMATIONS: Final = 3
# A single count of instructions can be off by more than 1 %: see `measuring.count`.
CALIBRATING_SEEDS: Final = (0, 1, 2)
CONFIRMING_SEEDS: Final = (3, 4, 5, 6, 7)


@dataclass(frozen=True)
class Options:
    """Options of a check.

    Attributes:
        metrics: The metrics to check. None means all that are declared, except overheads in a comparison.
        only: Patterns of scenario names; all scenarios if empty.
        processes: Fresh processes for an overhead; as many again confirm a breach, and again while it is still open.
        pairs: The same number for a regression.
        plan: How much each process measures.
        pause: Seconds before another batch: a machine state lasts a while, and an immediate repeat would see it again.
        base: The version that head is compared with.
        progress: Called with the steps done, the total and a text.
        run: Starts the measuring processes.
        calibrate: The advice shown if a calibrated value is missing; by default, to run the command of this name.
    """

    metrics: frozenset[str] | None = None
    only: tuple[str, ...] = ()
    processes: int = 5
    pairs: int = 3
    plan: MeasurementPlan = field(default_factory=MeasurementPlan)
    pause: float = 10.0
    base: Base | None = None
    progress: Callable[[int, int, str], None] = lambda _done, _total, _text: None
    run: Runner = run_job
    calibrate: str = ""


def check(declaration: Declaration, options: Options | None = None) -> BudgetReport:
    """Check every selected limit.

    Raises:
        DeclarationError: A scenario is not as declared.
    """
    return _Run(declaration, options or Options()).check()


def calibrate(declaration: Declaration, options: Options | None = None) -> tuple[Calibration, list[str]]:
    """Measure the values that relative limits refer to; also return a line for each value that could not be measured.

    Raises:
        DeclarationError: A scenario is not as declared.
    """
    return _Run(declaration, options or Options()).calibrate()


def select(declaration: Declaration, only: Sequence[str]) -> list[Scenario]:
    """The scenarios that match one of the patterns; all scenarios if there is no pattern."""
    scenarios = list(declaration.scenarios.values())
    return [each for each in scenarios if not only or is_chosen(each.name, only)]


class _Run:
    def __init__(self, declaration: Declaration, options: Options) -> None:
        self._declaration = declaration
        self._options = options
        self._base = options.base
        here = calibration.here(declaration)
        known = calibration.matching(calibration.read(declaration.lock), here)
        self._judge = Judge(here, known, options.calibrate) if options.calibrate else Judge(here, known)
        self._done = self._total = 0

    def check(self) -> BudgetReport:
        started = time.monotonic()
        wanted = self._wanted(lambda _limit: True)
        self._expect(wanted, 1)
        counted = self._count(wanted, None)
        of_base = self._count(wanted, self._base.folders) if self._base else None
        self._confirm_instructions(wanted, counted, of_base)
        overheads = self._time("time", limits.OVERHEAD, wanted)
        regressions = self._time("pair", limits.REGRESSION, wanted) if self._base else {}
        report = BudgetReport(
            command="compare" if self._base else "check",
            file=str(self._declaration.file),
            results=[],
            environment=environment.facts(self._declaration.distributions),
            base=self._base.name if self._base else "",
        )
        for name, (_scenario, declared) in wanted.items():
            for limit in declared:
                result: Result
                if limit.metric == limits.OVERHEAD:
                    result = self._judge.of_overhead(name, limit, overheads[name])
                elif limit.metric == limits.REGRESSION:
                    result = self._judge.of_regression(name, limit, regressions.get(name))
                else:
                    result = self._judge.of_count(name, limit, counted, of_base)
                report.results.append(result)
        report.is_fast = {
            **counted.is_fast,
            **{name: all(each.every("is_fast")) for name, each in overheads.items() if not each.error},
        }
        known = self._judge.calibrated
        report.functions = growth.find_grown(
            self._declaration,
            known if known is not None and not known.unfit(self._judge.here, "bytecodes") else None,
            report.results,
            self._options.run,
        )
        report.seconds = time.monotonic() - started
        self._options.progress(self._total, self._total, "")
        return report

    def calibrate(self) -> tuple[Calibration, list[str]]:
        wanted = self._wanted(lambda limit: limit.relative and limit.metric != limits.REGRESSION)
        self._expect(wanted, 2)
        counted = self._count(wanted, None, CALIBRATING_SEEDS)
        timed = self._time("time", limits.OVERHEAD, wanted, batches=2)
        found = self._judge.here
        missing: defaultdict[str, list[str]] = defaultdict(list)
        for name, (_scenario, declared) in wanted.items():
            values = dict(counted.values.get(name, {}))
            for metric in dict.fromkeys(limit.metric for limit in declared):
                if metric in values:
                    continue
                if metric == limits.OVERHEAD and not timed[name].error:
                    values[metric] = median(timed[name].every("ref"))
                    values["control"] = median(timed[name].every("control"))
                else:
                    why = timed[name].error if metric == limits.OVERHEAD else counted.reason(name, metric)
                    missing[f"{metric}: {why}"].append(name)
            found.scenarios[name] = values
        counts = [
            scenario
            for scenario, _ in wanted.values()
            if {"bytecodes", "calls"} & counted.values.get(scenario.name, {}).keys()
        ]
        if self._declaration.functions:
            found.functions = growth.record(self._declaration, counts, self._options.run)
        self._options.progress(self._total, self._total, "")
        return found, [f"{why} ({', '.join(names)})" for why, names in missing.items()]

    def _wanted(self, fits: Callable[[Limit], bool]) -> Wanted:
        asked = self._options.metrics
        if asked is None:
            asked = frozenset(limits.METRICS) - ({limits.OVERHEAD} if self._base else set())
        found = {}
        for scenario in select(self._declaration, self._options.only):
            declared = [limit for limit in scenario.limits if limit.metric in asked and fits(limit)]
            if declared:
                found[scenario.name] = (scenario, declared)
        return found

    def _expect(self, wanted: Wanted, batches: int) -> None:
        """Set the expected number of steps, not counting confirmations."""
        declared = [{limit.metric for limit in found} for _scenario, found in wanted.values()]
        counts = set().union(*declared) & set(limits.COUNTS)
        self._total = len(counts) * (2 if self._base else 1)
        if batches > 1 and limits.INSTRUCTIONS in counts:
            self._total += len(CALIBRATING_SEEDS) - 1
        self._total += sum(limits.OVERHEAD in each for each in declared) * self._options.processes * batches
        if self._base:
            self._total += sum(limits.REGRESSION in each for each in declared) * self._options.pairs

    def _step(self, text: str) -> None:
        self._options.progress(self._done, max(self._total, self._done + 1), text)
        self._done += 1

    def _confirm_instructions(self, wanted: Wanted, counted: Counted, of_base: Counted | None) -> None:
        """Count the instructions that are above their limit again: the median of these counts decides."""
        above: Wanted = {}
        for name, (scenario, declared) in wanted.items():
            instructions = [limit for limit in declared if limit.metric == limits.INSTRUCTIONS]
            if any(self._judge.is_above(name, limit, counted, of_base) for limit in instructions):
                above[name] = (scenario, instructions)
        for known, folders in ((counted, None), (of_base, self._base.folders if self._base else ())):
            if above and known:
                self._total += len(CONFIRMING_SEEDS)
                known.update(self._count(above, folders, CONFIRMING_SEEDS))

    def _count(self, wanted: Wanted, base: tuple[str, ...] | None, seeds: Sequence[int] = (0,)) -> Counted:
        metrics: dict[str, set[str]] = {}
        for name, (_scenario, declared) in wanted.items():
            for limit in declared:
                metrics.setdefault(name, set()).add(limit.metric)
                if limit.unit == limits.STOCK:
                    metrics.setdefault(stock_of(name), set()).add(limit.metric)
        asked = [
            (self._declaration.scenarios[name], [metric for metric in limits.COUNTS if metric in found])
            for name, found in metrics.items()
        ]
        return measuring.count(
            self._declaration,
            asked,
            base,
            self._step,
            compared=self._base is not None,
            run=self._options.run,
            seeds=seeds,
        )

    def _time(self, task: str, metric: str, wanted: Wanted, batches: int = 1) -> dict[str, Timed]:
        """Time scenarios, one process of each in turn, so that a scenario's processes are spread over the whole run."""
        batch = self._options.pairs if task == "pair" else self._options.processes
        job = Job(
            task,
            (),
            path=measuring.paths(self._declaration, compared=self._base is not None),
            base=self._base.folders if self._base and task == "pair" else (),
            share=self._declaration.share,
            reference=self._declaration.reference,
            plan=vars(self._options.plan),
        )
        timed = {
            name: measuring.Timed(self._declaration, scenario, replace(job, scenarios=(scenario,)), self._options.run)
            for name, (scenario, declared) in wanted.items()
            if any(limit.metric == metric for limit in declared)
        }
        for _ in range(batches):
            self._batch(list(timed.values()), batch)
        open_ = timed
        for _ in range(MOST_CONFIRMATIONS if batches == 1 else 0):
            open_ = {name: each for name, each in open_.items() if self._is_open(name, each, metric, wanted)}
            if not open_:
                break
            self._total += len(open_) * batch
            time.sleep(self._options.pause)
            self._batch(list(open_.values()), batch)
        return timed

    def _is_open(self, name: str, timed: Timed, metric: str, wanted: Wanted) -> bool:
        declared = [limit for limit in wanted[name][1] if limit.metric == metric]
        return not timed.error and any(self._judge.is_open(name, limit, timed) for limit in declared)

    def _batch(self, timed: list[Timed], count: int) -> None:
        for each in timed:
            each.start_batch()
        for number in range(count):
            for each in timed:
                self._step(f"{each.scenario.name}: process {number + 1} of {count}")
                each.measure()
