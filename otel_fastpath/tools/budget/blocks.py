"""Timing that cancels out changes of the machine's speed: short blocks of all arms in turn, in random order.

On a shared machine, sequential timing cannot detect a slowdown below 58 %. Blocks of about 200 us, with all arms in
each cycle, detect 5 %: the ratio is taken within each cycle, and the median of the cycles is used.
"""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.tools.budget.counting.callables import Arm

_FEWEST_CYCLES: Final = 20
_LONGEST_WARM_UP_NS: Final = 500_000_000


@dataclass(frozen=True)
class MeasurementPlan:
    """How much to measure in one process.

    Attributes:
        cycles: The number of blocks of each arm.
        block_ns: The intended duration of a block.
        warm_up: The number of calls before timing starts; the first five to ten calls of a hook cost twice the rest.
        longest_ns: The longest total time; slow calls get fewer cycles to stay below it, but at least twenty.
    """

    cycles: int = 300
    block_ns: int = 200_000
    warm_up: int = 300
    longest_ns: int = 10_000_000_000


def calls_per_block(arm: Arm, plan: MeasurementPlan) -> int:
    """The number of calls that fill a block, found by making that many."""
    calls = 1
    while True:
        taken = max(arm.block(calls), 1)
        if taken * 4 >= plan.block_ns or calls >= plan.block_ns:
            break
        calls *= 4
    # Take the fastest of three: an interrupted block would make all later ones too short.
    fastest = min(taken, arm.block(calls), arm.block(calls))
    return max(1, round(calls * plan.block_ns / max(fastest, 1)))


def warm(arm: Arm, plan: MeasurementPlan) -> None:
    """Call until the interpreter and the caches are warm, for half a second at most."""
    start, done, step = perf_counter_ns(), 0, 10
    while done < plan.warm_up and perf_counter_ns() - start < _LONGEST_WARM_UP_NS:
        arm.block(step)
        done += step


def interleave(
    arms: Mapping[str, Arm], plan: MeasurementPlan, seed: int, enter: Callable[[str], None] | None = None
) -> dict[str, list[float]]:
    """Time the arms in turn.

    Args:
        arms: The arms to time, by name.
        plan: How much to measure.
        seed: The seed of the random orders.
        enter: Called with an arm's name before each of its blocks; this call is not timed.

    Returns:
        Nanoseconds per call of each arm, one for each cycle.
    """
    counts = {}
    for name, arm in arms.items():
        if enter is not None:
            enter(name)
        warm(arm, plan)
        counts[name] = calls_per_block(arm, plan)
    order = random.Random(seed)  # noqa: S311  # an order, no secret
    names = list(arms)
    times: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.freeze()
    try:
        start = perf_counter_ns()
        for cycle in range(plan.cycles):
            if cycle >= _FEWEST_CYCLES and perf_counter_ns() - start > plan.longest_ns:
                break
            order.shuffle(names)
            for name in names:
                if enter is not None:
                    enter(name)
                times[name].append(arms[name].block(counts[name]) / counts[name])
    finally:
        gc.unfreeze()
    return times
