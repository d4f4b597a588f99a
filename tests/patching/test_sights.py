"""What tells the first sight of a value from the second."""

from __future__ import annotations

import random
import tracemalloc

from otel_fastpath.patching.sights import Sights


def test_the_second_sight_is_told_from_the_first():
    """Also of a value whose hash is zero, and after others."""
    sights = Sights()

    assert [sights.note(value) for value in (0, 2, 0, 3, 2, 3)] == [False, False, True, False, True, True]


def test_what_is_in_use_is_learnt():
    """Of two thousand values in turn, nearly all are soon; of fifty thousand, hardly one is."""
    learnt = {}
    numbers = random.Random(1)  # noqa: S311  # the hash of a text differs from process to process
    for count in (2_000, 50_000):
        values = [numbers.getrandbits(60) for _ in range(count)]
        sights, known = Sights(), set()
        for _ in range(8):
            for value in values:
                if value not in known and sights.note(value):
                    known.add(value)
        learnt[count] = len(known) / count

    assert learnt[2_000] > 0.9
    assert learnt[50_000] < 0.01


def test_strangers_cost_no_memory():
    """A hundred thousand different values take no more than their places."""
    tracemalloc.start()
    sights = Sights()
    for number in range(100_000):
        sights.note(number)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size < 64 << 10
