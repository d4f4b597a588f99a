"""Derives verdicts from measured values.

A timed limit fails only if a second batch of processes confirms the first and the interval of both lies above it.
If they leave the result open, up to two more batches decide. If the scatter is still wider than the limit's headroom,
the verdict is "inconclusive", because a pass would be meaningless.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget.estimate import Interval, over_processes
from otel_fastpath.tools.budget.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

# On one machine, the ratio of the two frozen workloads varies by a few per cent only.
CONTROL_TOLERANCE: Final = 0.10
# How much instruction counts of the same code vary, as a share of all counted: hash collisions depend on addresses.
INSTRUCTIONS_VARY: Final = 0.0025
# If base had no overhead in a cycle, the ratio of that cycle is meaningless.
LEAST_CLEAR: Final = 0.90


@dataclass(frozen=True)
class Decision:
    """A verdict and its reason."""

    verdict: Verdict
    interval: Interval
    reason: str = ""


def count(value: float, most: float) -> Verdict:
    """The verdict on an exact count, with a tolerance for the rounding of a sum of a few thousand floats."""
    return Verdict.PASS if value <= most + 1e-6 * max(1.0, abs(most)) else Verdict.FAIL


def within_variation(excess: float, total: float) -> str:
    """Why an excess of instructions may be only variation; empty if it is too large for that.

    Args:
        excess: The number of instructions above the limit.
        total: The instructions of the whole instrumented call; the count is this minus the bare call.
    """
    vary = total * INSTRUCTIONS_VARY
    if excess > vary:
        return ""
    return f"{excess:,.0f} above the limit is within the variation of a count of {total:,.0f} instructions"


def needs_another_batch(first: Sequence[float], later: Sequence[float], most: float, slack: float) -> bool:
    """Whether the first batch is not enough for a pass, or all batches so far leave the result open."""
    if later:
        return timed(first, later, most, slack).verdict is Verdict.INCONCLUSIVE
    interval = over_processes(first)
    return interval.value > most or interval.half_width > slack


def timed(first: Sequence[float], later: Sequence[float], most: float, slack: float) -> Decision:
    """The verdict on estimates.

    Args:
        first: The estimates of the first batch of processes.
        later: The estimates of the batches after it, if there were any.
        most: The limit.
        slack: The widest scatter (half of the interval) at which a pass is meaningful.
    """
    interval = over_processes([*first, *later])
    breached = median(first) > most
    if breached and interval.value > most:
        if interval.low > most:
            return Decision(Verdict.FAIL, interval)
        return Decision(Verdict.INCONCLUSIVE, interval, "the limit lies inside the interval of all batches")
    if interval.value > most:
        return Decision(Verdict.INCONCLUSIVE, interval, "only the later batches are above the limit")
    if interval.half_width > slack:
        return Decision(
            Verdict.INCONCLUSIVE,
            interval,
            f"the scatter of +-{interval.half_width:.2g} is wider than the headroom of the limit ({slack:.2g})",
        )
    return Decision(
        Verdict.PASS, interval, "the first batch was above the limit, all together are not" if breached else ""
    )


def machine_state(controls: Sequence[float], calibrated: float | None) -> str:
    """Why the machine may have caused a breach in reference units; empty if it did not."""
    if not calibrated or not controls:
        return ""
    factor = median(controls) / calibrated
    if abs(factor - 1) <= CONTROL_TOLERANCE:
        return ""
    return f"machine state: the two frozen workloads read {factor:.2f} times their calibrated ratio"
