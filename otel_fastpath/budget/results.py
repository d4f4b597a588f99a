"""What a check found: one result for each limit, a report of them all, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA: Final = 1
PER_CALL: Final = "per call"


class Verdict(str, Enum):
    """What is known about a limit. The last two are neither of the first."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"
    INFORMATION = "information"


class Exit(IntEnum):
    """Exit codes of the commands."""

    HELD = 0
    EXCEEDED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    NOT_MEASURED = 4


@dataclass
class Result:
    """One limit of one scenario.

    Attributes:
        scenario: Its name.
        metric: What was limited, with the unit where it is not the usual one.
        limit: As declared.
        verdict: What is known about it.
        unit: Of the value.
        value: What was measured; None if nothing was.
        most: What it may be, in the same unit; None where that is not known.
        low: Lower end of the interval of the value, where it is an estimate.
        high: Its upper end.
        confidence: That of the interval.
        calibrated: What the limit is relative to.
        estimates: One for each process.
        reason: Why the verdict is not simply what the value says, or what to do about it; one line.
        details: Plain times and the like.
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


@dataclass
class Report:
    """All results of one run.

    Attributes:
        command: "check" or "compare".
        file: The declaration.
        results: In order of declaration.
        environment: Facts about the machine and the interpreter.
        base: What head was compared with.
        seconds: How long it took.
    """

    command: str
    file: str
    results: list[Result]
    environment: dict[str, Any]
    base: str = ""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The report for machines; `schema` changes when a field changes its meaning."""
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
        }


def exit_code(verdicts: Iterable[Verdict], *, strict: bool) -> Exit:
    """What a command ends with.

    Args:
        verdicts: Of all limits.
        strict: What is inconclusive or was not measured is not let through.
    """
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Exit.EXCEEDED
    if not found & {Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.INFORMATION}:
        return Exit.NOT_MEASURED
    if strict and Verdict.INCONCLUSIVE in found:
        return Exit.INCONCLUSIVE
    if strict and Verdict.NOT_MEASURED in found:
        return Exit.NOT_MEASURED
    return Exit.HELD
