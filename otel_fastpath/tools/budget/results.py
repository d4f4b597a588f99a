"""The results of a check: one for each limit, a report of all of them, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.common.exit_codes import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA: Final = 1
PER_CALL: Final = "per call"


class Verdict(str, Enum):
    """The verdict on a limit. The last two mean that it neither passed nor failed."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"
    INFORMATION = "information"


@dataclass
class Result:
    """One limit of one scenario.

    Attributes:
        scenario: The name of the scenario.
        metric: The metric, with the unit if it is not the usual one.
        limit: The limit as declared.
        verdict: The verdict on the limit.
        unit: The unit of the value.
        value: The measured value, or None if nothing was measured.
        most: The highest allowed value in the same unit, or None if it is not known.
        low: The lower end of the value's interval, if the value is an estimate.
        high: The upper end of the interval.
        confidence: The confidence of the interval.
        calibrated: The value that the limit is relative to.
        estimates: The estimates, one for each process.
        reason: Why the verdict does not follow from the value alone, or what to do about it; one line.
        details: Further figures, such as plain times.
    """

    scenario: str
    metric: str
    limit: str
    verdict: Verdict
    unit: str = ""
    value: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    calibrated: float | None = None
    estimates: list[float] = field(default_factory=list)
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether the value is a count and not an estimate."""
        return self.unit == PER_CALL


@dataclass(frozen=True)
class Growth:
    """The functions that a count above its limit is in.

    Attributes:
        is_calibrated: Whether functions were recorded when the scenario was calibrated. If not, `functions` are those
            with the most bytecodes, and else those that execute more than was recorded, the one that grew most first.
        functions: `function`, the bytecodes per call that it `was` recorded with, or None, and those `now`.
    """

    is_calibrated: bool
    functions: list[dict[str, Any]]


@dataclass
class BudgetReport:
    """All results of one run.

    Attributes:
        command: "check" or "compare".
        file: The file of the declaration.
        results: The results in order of declaration.
        environment: Facts about the machine and the interpreter.
        base: The version that head was compared with.
        seconds: The duration of the run.
        is_fast: Scenario -> whether otel-fastpath was active where it was measured, if that is known.
        functions: Scenario with a count above its limit -> where the count is.
        profiles: Scenario -> its profile, or an object with `error`; None if none was asked for.
    """

    command: str
    file: str
    results: list[Result]
    environment: dict[str, Any]
    base: str = ""
    seconds: float = 0.0
    is_fast: dict[str, bool] = field(default_factory=dict)
    functions: dict[str, Growth] = field(default_factory=dict)
    profiles: dict[str, dict[str, Any]] | None = None

    def as_json(self) -> dict[str, Any]:
        """The report for programs; `schema` changes when the meaning of a field changes."""
        counted = {verdict.value: 0 for verdict in Verdict}
        for result in self.results:
            counted[result.verdict.value] += 1
        return {
            "schema": SCHEMA,
            "kind": f"otel-fastpath budget {self.command}",
            "file": self.file,
            "base": self.base,
            "verdicts": counted,
            "results": [{**vars(result), "verdict": result.verdict.value} for result in self.results],
            "environment": self.environment,
            "seconds": round(self.seconds, 3),
            "is_fast": self.is_fast,
            "functions": {name: vars(growth) for name, growth in self.functions.items()},
            **({} if self.profiles is None else {"profiles": self.profiles}),
        }


def exit_code(verdicts: Iterable[Verdict], *, strict: bool) -> Exit:
    """Return the exit code of a command.

    Args:
        verdicts: The verdicts on all limits.
        strict: Whether limits that are inconclusive or were not measured make the command fail.
    """
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Exit.FAILURE
    if not found & {Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.INFORMATION}:
        return Exit.NOT_MEASURED
    if strict and Verdict.INCONCLUSIVE in found:
        return Exit.INCONCLUSIVE
    if strict and Verdict.NOT_MEASURED in found:
        return Exit.NOT_MEASURED
    return Exit.SUCCESS
