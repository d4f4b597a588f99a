"""Compares a suite's runs by test id, and holds them to the list of differences that are meant."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet

from harness.contrib import contrib_suites
from harness.paths import HERE, StockError
from harness.suites import CORES, SUITES, Mode, run, run_stock

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.environment import Environment
    from harness.suites import Run, Suite

LIST = HERE / "differences.toml"


@dataclass(frozen=True)
class Meant:
    """An entry of the list: a test that must not pass under us, or several whose ids match, * standing for any text.

    With a `place`, the test passes, and makes our code report a fault there.
    """

    suite: str
    test: str
    reason: str
    place: str = ""
    versions: str = ""
    cores: tuple[str, ...] = CORES

    def concerns(self, suite: str, otel: str, core: str) -> bool:
        """Whether it is about this run."""
        version_fits = SpecifierSet(self.versions).contains(otel, prereleases=True)
        return self.suite == suite and core in self.cores and version_fits

    def tests(self, run: Run) -> set[str]:
        """The tests of this run that it is about."""
        pattern = re.compile(".*".join(re.escape(part) for part in self.test.split("*")))
        return {test for test in run.outcomes if pattern.fullmatch(test)}


@dataclass
class Verdict:
    """What became of one suite in one mode.

    Attributes:
        suite: Its name.
        mode: How it was run.
        result: The run itself.
        faults: What is wrong, a line each; nothing else makes the verdict bad.
        meant: How many tests failed as the list says they must.
        unsteady: Tests that failed once and passed in a second run of the whole suite.
        gained: Tests that fail stock and pass here.
    """

    suite: str
    mode: str
    result: Run
    faults: list[str] = field(default_factory=list)
    meant: int = 0
    unsteady: list[str] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)


def meant_differences(path: Path = LIST) -> list[Meant]:
    """Read the list.

    Raises:
        StockError: An entry is not what the head of the file describes.
    """
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text()).get("difference", [])
    known = {suite.name for suite in (*SUITES, *contrib_suites())}
    found = []
    for number, entry in enumerate(entries, 1):
        try:
            item = Meant(**{**entry, "cores": tuple(entry.get("cores", CORES))})
            SpecifierSet(item.versions)
        except (TypeError, ValueError) as error:
            raise StockError(f"{path.name}, entry {number}: {error}") from None
        if item.suite not in known or not set(item.cores) <= set(CORES):
            raise StockError(f"{path.name}, entry {number}: unknown suite or core")
        if not item.reason.strip():
            raise StockError(f"{path.name}, entry {number}: no reason is given")
        found.append(item)
    return found


def broken(stock: Run, ours: Run) -> set[str]:
    """The tests that passed stock and did not under us: failed, skipped, or not even there."""
    return stock.passed() - ours.passed()


def judge_stock(environment: Environment, suite: Suite) -> Verdict:
    """Run a suite stock; what fails there is not held against us, but a suite that does not run at all is a fault."""
    result = run_stock(environment, suite)
    return Verdict(suite.name, "stock", result, faults=list(result.problems(Mode.stock())))


def judge_ours(environment: Environment, suite: Suite, mode: Mode, stock: Run, meant: Sequence[Meant]) -> Verdict:
    """Run a suite under us, and again if a test broke; then judge it by the better of the two outcomes of each test.

    The whole suite is run again, not the test alone: what we leave behind in one test may break another.
    """
    first = run(environment, suite, mode)
    mine = [item for item in meant if item.concerns(suite.name, environment.otel, mode.name)]
    if not broken(stock, first) - _named(stock, mine) or any(first.problems(mode)):
        return judge(stock, first, suite.name, mode, mine)
    second = run(environment, suite, mode)
    unsteady = sorted((broken(stock, first) | broken(stock, second)) - (broken(stock, first) & broken(stock, second)))
    causes = {**second.causes, **first.causes}
    for test in unsteady:
        second.outcomes[test] = "passed"
    verdict = judge(stock, second, suite.name, mode, mine)
    verdict.unsteady = [f"{test}: {causes.get(test, '')}" for test in unsteady]
    return verdict


def judge(stock: Run, ours: Run, suite: str, mode: Mode, meant: Sequence[Meant]) -> Verdict:
    """Hold a run to the stock one; `meant` are the entries that concern it."""
    provoked = [item.place for item in meant if item.place]
    problems = [line for line in ours.problems(mode) if not any(f"failed in {place}" in line for place in provoked)]
    verdict = Verdict(suite, mode.name, ours, faults=problems)
    if not ours.outcomes:
        return verdict
    verdict.faults += [
        f"{LIST.name} names a fault in {place}: take it out" for place in provoked if place not in ours.faults
    ]
    meant = [item for item in meant if not item.place]
    lost = broken(stock, ours)
    verdict.gained = sorted(test for test in ours.passed() if stock.outcomes.get(test) == "failed")
    for item in meant:
        tests = item.tests(stock)
        if not tests:
            verdict.faults.append(f"{LIST.name} names {item.test}, which this version does not have")
        for test in sorted(tests - lost):
            verdict.faults.append(f"{LIST.name} names {test}, which passes or fails as it does stock: take it out")
    named = _named(stock, meant)
    verdict.meant = len(lost & named)
    for test in sorted(lost - named):
        outcome = ours.outcomes.get(test, "not run")
        verdict.faults.append(f"{test} {outcome}: {ours.causes.get(test, '')}".rstrip(": "))
    return verdict


def _named(stock: Run, meant: Sequence[Meant]) -> set[str]:
    return {test for item in meant for test in item.tests(stock)}
