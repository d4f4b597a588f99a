"""From figures to verdicts.

A timed limit fails only if a second batch of processes confirms the first and the interval of both lies above it.
Where they leave it open, up to two more batches decide; where the scatter is still wider than what the limit leaves,
the verdict is "inconclusive": a pass would mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from otel_fastpath.budget.estimate import Interval, over_processes
from otel_fastpath.budget.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

# The two frozen workloads keep their ratio within a few per cent on one machine.
CONTROL_TOLERANCE: Final = 0.10
# What instruction counts of the same code vary by, as a share of everything counted: addresses decide on collisions.
INSTRUCTIONS_VARY: Final = 0.0025
# Cycles in which base cost nothing at all make a ratio meaningless.
LEAST_CLEAR: Final = 0.90


@dataclass(frozen=True)
class Decision:
    """A verdict and why."""

    verdict: Verdict
    interval: Interval
    reason: str = ""


def count(value: float, most: float) -> Verdict:
    """The verdict on an exact count; the sum of a few thousand floats is allowed its last digits."""
    return Verdict.PASS if value <= most + 1e-6 * max(1.0, abs(most)) else Verdict.FAIL


def within_variation(excess: float, total: float) -> str:
    """Why an excess of instructions may be none; empty if it is one.

    Args:
        excess: How far a count is above its limit.
        total: Instructions of the whole instrumented call, which the count is a difference to.
    """
    vary = total * INSTRUCTIONS_VARY
    if excess > vary:
        return ""
    return f"{excess:,.0f} above the limit is within what a count of {total:,.0f} instructions varies by"


def needs_another_batch(first: Sequence[float], later: Sequence[float], most: float, slack: float) -> bool:
    """Whether the first batch is not enough to pass, or those so far leave it open."""
    if later:
        return timed(first, later, most, slack).verdict is Verdict.INCONCLUSIVE
    interval = over_processes(first)
    return interval.value > most or interval.half_width > slack


def timed(first: Sequence[float], later: Sequence[float], most: float, slack: float) -> Decision:
    """The verdict on estimates.

    Args:
        first: Estimates of the first batch of processes.
        later: Of the batches after it, if it needed any.
        most: The limit.
        slack: The widest scatter (half of the interval) with which a pass means something.
    """
    interval = over_processes([*first, *later])
    breached = median(first) > most
    if breached and interval.value > most:
        if interval.low > most:
            return Decision(Verdict.FAIL, interval)
        return Decision(Verdict.INCONCLUSIVE, interval, "the limit lies inside the interval, also of all batches")
    if interval.value > most:
        return Decision(Verdict.INCONCLUSIVE, interval, "only the later batches are above the limit")
    if interval.half_width > slack:
        return Decision(
            Verdict.INCONCLUSIVE,
            interval,
            f"the scatter of +-{interval.half_width:.2g} hides what the limit leaves ({slack:.2g})",
        )
    return Decision(
        Verdict.PASS, interval, "the first batch was above the limit, all together are not" if breached else ""
    )


def machine_state(controls: Sequence[float], calibrated: float | None) -> str:
    """Why a breach in reference units may be the machine's; empty if it is not."""
    if not calibrated or not controls:
        return ""
    factor = median(controls) / calibrated
    if abs(factor - 1) <= CONTROL_TOLERANCE:
        return ""
    return f"machine state: the two frozen workloads read {factor:.2f} times their calibrated ratio"
