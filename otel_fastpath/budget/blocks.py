"""Times, taken so that the machine's moods cancel out: short blocks of every arm in turn, in random order.

Sequential timing cannot see less than +58 % on a shared machine. Blocks of about 200 us, all arms in each cycle, and
the median over the cycles of a ratio within the cycle can see +5 %.
"""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.budget.callables import Arm

_FEWEST_CYCLES: Final = 20
_LONGEST_WARM_UP_NS: Final = 500_000_000


@dataclass(frozen=True)
class Plan:
    """How much is measured in one process.

    Attributes:
        cycles: Blocks of each arm.
        block_ns: What a block should take.
        warm_up: Calls before anything counts; the first five to ten of a hook cost twice the rest.
        longest_ns: Where calls are slow, cycles are left out to stay below this, down to twenty.
    """

    cycles: int = 300
    block_ns: int = 200_000
    warm_up: int = 300
    longest_ns: int = 10_000_000_000


def calls_per_block(arm: Arm, plan: Plan) -> int:
    """How many calls fill a block; as many are made to find out."""
    calls = 1
    while True:
        taken = max(arm.block(calls), 1)
        if taken * 4 >= plan.block_ns or calls >= plan.block_ns:
            break
        calls *= 4
    # The fastest of three: a block that was interrupted would make all later ones too short.
    fastest = min(taken, arm.block(calls), arm.block(calls))
    return max(1, round(calls * plan.block_ns / max(fastest, 1)))


def warm(arm: Arm, plan: Plan) -> None:
    """Call often enough for the interpreter and the caches to settle, for half a second at most."""
    start, done, step = perf_counter_ns(), 0, 10
    while done < plan.warm_up and perf_counter_ns() - start < _LONGEST_WARM_UP_NS:
        arm.block(step)
        done += step


def interleave(
    arms: Mapping[str, Arm], plan: Plan, seed: int, enter: Callable[[str], None] | None = None
) -> dict[str, list[float]]:
    """Time the arms in turn.

    Args:
        arms: What to time, by name.
        plan: How much.
        seed: Of the random orders.
        enter: Called with an arm's name before its block, outside the time taken.

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
