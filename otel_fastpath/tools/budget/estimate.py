"""Estimates from paired blocks, and from several processes."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Interval:
    """An estimate over processes.

    Attributes:
        value: The median.
        low: Lower end of the interval that covers the true median with `confidence`.
        high: Its upper end.
        confidence: Between 0 and 1; it is low if there are few processes.
    """

    value: float
    low: float
    high: float
    confidence: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width, the margin of error."""
        return (self.high - self.low) / 2


def over_processes(estimates: Sequence[float], least: float = 0.75) -> Interval:
    """Median and interval of independent estimates, without an assumption about their distribution.

    The interval is the narrowest pair of order statistics that covers the median with at least this confidence, or
    the full range if no pair does. Processes vary more (4 to 5 %) than the blocks within one process suggest
    (1.5 %), so the interval must be made from processes.
    """
    ordered = sorted(estimates)
    count = len(ordered)
    cut, confidence = 0, _covered(count, 0)
    while cut + 1 < (count + 1) // 2 and _covered(count, cut + 1) >= least:
        cut += 1
        confidence = _covered(count, cut)
    return Interval(median(ordered), ordered[cut], ordered[count - 1 - cut], confidence)


def _covered(count: int, cut: int) -> float:
    """The confidence that the median lies between the order statistics `cut` from either end."""
    outside = sum(comb(count, missed) for missed in range(cut + 1))
    return max(0.0, 1 - 2 * outside / float(2**count))


def overhead(times: Mapping[str, Sequence[float]], reference: str, control: str) -> dict[str, Any]:
    """The estimates of one process from its bare, instrumented, reference and control blocks.

    Returns:
        The overhead in references ("ref"), as a share of bare ("bare") and in microseconds ("us"); the plain times;
        and "control", the ratio of the two frozen workloads, which changes if the machine or its state is different.
    """
    cycles = list(zip(times["bare"], times["instrumented"], times[reference], times[control], strict=True))
    return {
        "ref": median((with_it - bare) / unit for bare, with_it, unit, _ in cycles),
        "bare": median((with_it - bare) / bare for bare, with_it, _, _ in cycles),
        "us": median(with_it - bare for bare, with_it, _, _ in cycles) / 1000,
        "control": median(other / unit for _, _, unit, other in cycles),
        "bare_us": median(times["bare"]) / 1000,
        "instrumented_us": median(times["instrumented"]) / 1000,
        "reference_us": median(times[reference]) / 1000,
        "least_us": min(with_it - bare for bare, with_it, _, _ in cycles) / 1000,
        "cycles": len(cycles),
    }


def regression(times: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The estimates of one process about two versions of one hook.

    Returns:
        "base": the overhead of head as a multiple of base's overhead; "clear": the share of cycles in which base had
        any overhead at all, because without one the ratio is meaningless.
    """
    names = ("head.bare", "head.instrumented", "base.bare", "base.instrumented")
    costs = [
        (head - head_bare, base - base_bare)
        for head_bare, head, base_bare, base in zip(*(times[n] for n in names), strict=True)
    ]
    clear = [head / base for head, base in costs if base > 0]
    return {
        "base": median(clear) if clear else 0.0,
        "clear": len(clear) / len(costs),
        "head_us": median(head for head, _ in costs) / 1000,
        "base_us": median(base for _, base in costs) / 1000,
        "cycles": len(costs),
    }
