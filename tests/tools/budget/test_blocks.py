"""Timing: every arm in every cycle, in random order, and no longer than it may take."""

from __future__ import annotations

import gc
import time

import pytest

from otel_fastpath.tools.budget import blocks
from otel_fastpath.tools.budget.blocks import MeasurementPlan
from otel_fastpath.tools.budget.counting.callables import Arm, nothing


def test_every_arm_has_a_block_in_every_cycle():
    """As many figures as cycles, in nanoseconds of a call."""
    arms = {"fast": Arm(nothing), "slow": Arm(lambda: time.sleep(0.001))}

    times = blocks.interleave(arms, MeasurementPlan(cycles=25, warm_up=10), seed=1)

    assert {name: len(each) for name, each in times.items()} == {"fast": 25, "slow": 25}
    assert max(times["fast"]) < 1_000_000 <= min(times["slow"])


def test_the_order_is_random_and_the_same_for_a_seed():
    """What is entered before each block shows the order."""

    def orders(seed):
        entered = []
        arms = {name: Arm(nothing) for name in "abc"}
        blocks.interleave(arms, MeasurementPlan(cycles=30, warm_up=10, block_ns=1000), seed, entered.append)
        cycles = entered[3:]
        return ["".join(cycles[i : i + 3]) for i in range(0, len(cycles), 3)]

    first = orders(1)

    assert all(sorted(each) == ["a", "b", "c"] for each in first)
    assert len(set(first)) == 6
    assert orders(1) == first != orders(2)


def test_slow_calls_are_measured_less_often():
    """But twenty times at least."""
    arms = {"slow": Arm(lambda: time.sleep(0.002))}

    times = blocks.interleave(arms, MeasurementPlan(cycles=300, warm_up=1, longest_ns=10_000_000), seed=1)

    assert len(times["slow"]) == 20


@pytest.mark.parametrize("seconds", [0.0, 0.0005])
def test_blocks_are_filled(seconds):
    """A block of cheap calls has many of them, one of a slow call has one."""
    arm = Arm((lambda: time.sleep(seconds)) if seconds else nothing)

    calls = blocks.calls_per_block(arm, MeasurementPlan())

    assert calls == 1 if seconds else calls > 50


def test_the_collector_is_as_it_was():
    """Objects that were frozen for the measurement can be collected again."""
    blocks.interleave({"a": Arm(nothing)}, MeasurementPlan(cycles=20, warm_up=1, block_ns=1000), 1)

    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
